#include "models/training/training_memory.h"

#include <algorithm>

#include "models/checkpoint/file_arrays.h"

namespace shardline {
namespace {

/// Elements outside the arena, of inputs with this role.
double on_heap(const Compiled& compiled, Role role, Index rank) {
  const RankProgram& program = compiled.program();
  double sum = 0;
  for (const auto& [array, version] : program.inputs) {
    const bool counted = program.program.array(array).role == role && !compiled.arena().holds(version);
    if (counted) sum += static_cast<double>(element_count(local_shape(program, version, rank)));
  }
  return sum;
}

/// Most bytes of arrays outside the arena.
Bytes heap_peak(const Compiled& compiled, Index rank) { return heap_peak(compiled.arena(), compiled.liveness(), rank); }

}  // namespace

TrainingMemory training_memory(const TrainingPlan& plan, int stage, Index rank) {
  const StagePrograms& programs = plan.stages.at(static_cast<std::size_t>(stage));
  const Compiled& step = *programs.step;
  const Compiled& evaluation = *programs.evaluation;
  const auto item = static_cast<double>(size_of(plan.run.options.types().moments));  // weights have the same
  const Bytes moments(item * on_heap(step, Role::optimizer_state, rank));
  const Bytes state =
      moments + Bytes(item * (on_heap(step, Role::parameter, rank) + on_heap(step, Role::master, rank)));
  double initialising = 0;
  for (const ModelParameter& parameter : plan.step_model.model.parameters) {
    const RankProgram& program = step.program();
    if (!program.inputs.contains(parameter.array)) continue;
    const Shape block = local_shape(program, program.inputs.at(parameter.array), rank);
    initialising = std::max(initialising, loading_memory(block, parameter, item));
  }
  TrainingMemory memory;
  memory.own = std::max({heap_peak(step, rank), heap_peak(evaluation, rank) + moments, state + Bytes(initialising)});
  memory.arena = Bytes(static_cast<double>(programs.state().shared_bytes()));
  return memory;
}

}  // namespace shardline
