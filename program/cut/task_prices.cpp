#include "program/cut/task_prices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "program/price/estimate.h"

namespace shardline {
namespace {

/// One move of some versions over `axis`.
Seconds move_price(const Cut& cut, const Axis& axis, std::vector<VersionId> versions,
                   const roofline::Hardware& hardware) {
  Step move;
  move.kind = StepKind::receive;
  move.results = std::move(versions);
  move.axes = {axis};
  return estimate(cut.micro(), move, hardware).price.time;
}

}  // namespace

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
        costs.move = std::max(costs.move, move_price(cut, axis, {each.version}, hardware));
      }
    }
  }
  return costs;
}

std::vector<UpdatePrice> update_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware,
                                       const std::vector<Seconds>& times) {
  std::vector<UpdatePrice> prices(static_cast<std::size_t>(cut.stages()));
  for (const UpdateEvent& event : cut.update()) {
    UpdatePrice& own = prices[static_cast<std::size_t>(event.stage)];
    if (event.step < 0) {
      const Seconds move = move_price(cut, axis, event.versions, hardware);
      own.moves += move;
      prices[static_cast<std::size_t>(event.to)].moves += move;
    } else if (!is_renaming(cut.micro(), cut.micro().steps[static_cast<std::size_t>(event.step)])) {
      own.work += times[static_cast<std::size_t>(event.step)];
    }
  }
  return prices;
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
