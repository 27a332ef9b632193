#include "models/training/training_memory.h"

#include <algorithm>

#include "models/checkpoint/checkpoint.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Elements of an array: in total, and in a rank's block.
struct Elements {
  double whole = 0;
  double block = 0;
};

Elements elements(const RankProgram& program, ArrayId input, Index rank) {
  return {static_cast<double>(element_count(program.program.array(input).shape)),
          static_cast<double>(element_count(local_shape(program, program.inputs.at(input), rank)))};
}

/// Elements outside the arena, of inputs with this role.
double on_heap(const Compiled& compiled, Role role, Index rank) {
  const RankProgram& program = compiled.program();
  double sum = 0;
  for (const auto& [array, version] : program.inputs) {
    const bool counted = program.program.array(array).role == role && !compiled.arena().holds(version);
    if (counted) sum += elements(program, array, rank).block;
  }
  return sum;
}

/// Most bytes of arrays outside the arena.
Bytes heap_peak(const Compiled& compiled, Index rank) { return heap_peak(compiled.arena(), compiled.liveness(), rank); }

/// Memory beside the state to make the block of a parameter, from the seed or from a file. Rank 0
/// reads the blocks of all ranks from the file.
double to_initialise(double largest_block, double item) { return kLoadingBlocks * std::max(item, 8.0) * largest_block; }

/// Memory beside the state to assemble a parameter from the blocks of all ranks.
double to_gather(const Elements& of, double item, double ranks) { return item * (of.whole + (ranks + 3) * of.block); }

/// The step of the first stage that has this input.
const RankProgram& program_with(const TrainingPlan& plan, ArrayId input) {
  const auto found = std::find_if(plan.stages.begin(), plan.stages.end(), [&](const StagePrograms& stage) {
    return stage.step->program().inputs.contains(input);
  });
  SHARDLINE_CHECK(found != plan.stages.end(), "no stage has {}", plan.step_model.model.program.array(input).name);
  return found->step->program();
}

}  // namespace

TrainingMemory training_memory(const TrainingPlan& plan, int stage, Index rank, bool saves) {
  const StagePrograms& programs = plan.stages.at(static_cast<std::size_t>(stage));
  const Compiled& step = *programs.step;
  const Compiled& evaluation = *programs.evaluation;
  const auto item = static_cast<double>(size_of(plan.run.options.types().moments));  // weights have the same
  const Index ranks = step.program().mesh.ranks();
  const Bytes moments(item * on_heap(step, Role::optimizer_state, rank));
  const Bytes state =
      moments + Bytes(item * (on_heap(step, Role::parameter, rank) + on_heap(step, Role::master, rank)));
  const bool saver = stage == 0 && rank == 0;  // it also assembles what other stages send
  double all_weights = 0;
  double initialising = 0;
  double gathering = 0;
  for (const ModelParameter& parameter : plan.step_model.model.parameters) {
    const RankProgram& holder = program_with(plan, parameter.array);
    const Elements of = elements(holder, parameter.array, 0);
    const bool here = step.program().inputs.contains(parameter.array);
    // Loaded blocks pass by every rank.
    if (here || plan.run.start) initialising = std::max(initialising, to_initialise(of.block, item));
    if (saver) all_weights += item * of.whole;
    const double turned = saver ? 2 * item * of.whole : 0;  // into the stored form
    if (!saver && !here) continue;
    gathering = std::max(gathering, to_gather(of, item, static_cast<double>(ranks)) + turned);
  }
  TrainingMemory memory;
  memory.own = std::max({heap_peak(step, rank), heap_peak(evaluation, rank) + moments, state + Bytes(initialising)});
  if (saves) memory.own = std::max(memory.own, state + Bytes(gathering + all_weights));
  memory.arena = Bytes(static_cast<double>(programs.state().shared_bytes()));
  return memory;
}

}  // namespace shardline
