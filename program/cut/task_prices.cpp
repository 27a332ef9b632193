#include "program/cut/task_prices.h"

#include <algorithm>
#include <vector>

#include "program/price/estimate.h"

namespace shardline {
namespace {

/// True if a schedule moves this beside the tasks before and after: a gather of a parameter starts early, and a
/// reduction of its gradient ends late.
bool hides(const RankProgram& program, const Step& step, const roofline::Hardware& hardware) {
  if (!communicates(step.kind)) return false;
  const Array& array = program.array_of(step.operands[0]);
  const bool of_gradient = array.role == Role::gradient && program.program.array(array.primal).role == Role::parameter;
  return (of_gradient || array.role == Role::parameter) &&
         std::all_of(step.axes.begin(), step.axes.end(),
                     [&](const Axis& axis) { return hardware.link(axis).frees_cores; });
}

}  // namespace

TaskCosts task_prices(const Cut& cut, const Axis& axis, const roofline::Hardware& hardware) {
  const std::vector<StepEstimate> estimates = estimate(cut.micro(), hardware);
  TaskCosts costs{.frees_cores = hardware.link(axis).frees_cores};
  for (int chunk = 0; chunk < static_cast<int>(cut.layers().place.size()); ++chunk) {
    const auto cost = [&](TaskKind kind) {
      Seconds own;
      Seconds beside;
      for (const int number : cut.steps({kind, chunk})) {
        const Step& step = cut.micro().steps[static_cast<std::size_t>(number)];
        (hides(cut.micro(), step, hardware) ? beside : own) += estimates[static_cast<std::size_t>(number)].price.time;
      }
      return std::max(own, beside);
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
