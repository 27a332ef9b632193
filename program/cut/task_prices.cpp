#include "program/cut/task_prices.h"

#include <algorithm>
#include <vector>

#include "program/price/estimate.h"

namespace shardline {

TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware) {
  std::vector<Seconds> times;
  for (const StepEstimate& each : estimate(cut.micro(), hardware)) times.push_back(each.price.time);
  return task_prices(cut, axis, hardware, times);
}

TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                      const std::vector<Seconds>& times) {
  TaskCosts costs{.frees_cores = axis.empty() || hardware.link(axis).frees_cores};
  for (int chunk = 0; chunk < static_cast<int>(cut.layers().place.size()); ++chunk) {
    const auto cost = [&](TaskKind kind) {
      Seconds sum;
      for (const int step : cut.steps({kind, chunk})) sum += times[static_cast<std::size_t>(step)];
      return sum;
    };
    costs.forward.push_back(cost(TaskKind::forward));
    costs.backward.push_back(cost(TaskKind::backward));
    costs.inputs.push_back(cost(TaskKind::inputs));
    costs.weights.push_back(cost(TaskKind::weights));
    if (axis.empty()) continue;
    for (const TaskKind kind : {TaskKind::forward, TaskKind::backward}) {
      for (const Shipped& each : cut.ships({kind, chunk})) {
        Step move;
        move.kind = StepKind::receive;
        move.results = {each.version};
        move.axes = {axis};
        costs.move = std::max(costs.move, estimate(cut.micro(), move, hardware).price.time);
      }
    }
  }
  return costs;
}

StageLayers layers_apart(const RankProgram& micro) {
  int last = 0;
  for (const Step& step : micro.steps) last = std::max(last, step.region.layer);
  StageLayers apart;
  for (int layer = 0; layer <= last; ++layer) {
    apart.place.push_back(layer);
    apart.chunk_of.push_back(layer);
  }
  return apart;
}

}  // namespace shardline
