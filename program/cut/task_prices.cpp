#include "program/cut/task_prices.h"

#include <algorithm>
#include <vector>

#include "program/price/estimate.h"

namespace shardline {

TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware) {
  const std::vector<StepEstimate> estimates = estimate(cut.micro(), hardware);
  TaskCosts costs{.frees_cores = hardware.link(axis).frees_cores};
  for (int chunk = 0; chunk < static_cast<int>(cut.layers().place.size()); ++chunk) {
    const auto cost = [&](TaskKind kind) {
      Seconds sum;
      for (const int step : cut.steps({kind, chunk})) sum += estimates[static_cast<std::size_t>(step)].price.time;
      return sum;
    };
    costs.forward.push_back(cost(TaskKind::forward));
    costs.backward.push_back(cost(TaskKind::backward));
    costs.inputs.push_back(cost(TaskKind::inputs));
    costs.weights.push_back(cost(TaskKind::weights));
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

}  // namespace shardline
