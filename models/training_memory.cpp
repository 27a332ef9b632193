#include "models/training_memory.h"

#include <algorithm>

#include "models/accounting.h"
#include "program/arena_plan.h"
#include "program/liveness.h"

namespace shardline {
namespace {

/// Elements of an array: of all of it, and of a rank's block.
struct Elements {
  double whole = 0;
  double block = 0;
};

/// A program as one rank runs it, and where its arrays lie.
struct Planned {
  RankProgram program;
  ProgramSchedule schedule;
  Liveness liveness;
  ArenaPlan arena;

  Planned(const Program& logical, const AbstractMesh& mesh, const Strategy& strategy, const TrainingOptions& options)
      : program(partition_checked(logical, mesh, strategy, options)),
        schedule(shardline::schedule(program, {.real = options.dtype}, options.prices, options.schedule)),
        liveness(program, schedule),
        arena(plan_arena(program, {.real = options.dtype}, liveness)) {}
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;

  Elements elements(ArrayId input, Index rank) const {
    return {static_cast<double>(element_count(program.program.array(input).shape)),
            static_cast<double>(element_count(local_shape(program, program.inputs.at(input), rank)))};
  }

  /// Elements of inputs of this role that lie outside of the arena.
  double on_heap(Role role, Index rank) const {
    double sum = 0;
    for (const auto& [array, version] : program.inputs) {
      if (program.program.array(array).role == role && !arena.holds(version)) sum += elements(array, rank).block;
    }
    return sum;
  }
};

/// Beside the state: what it takes to make a parameter from the seed, or from a file, in f64, and to cut the block from
/// it.
double to_initialise(const Elements& of, double item) { return 8 * (of.whole + of.block) + item * of.block; }

/// Beside the state: what it takes to put a parameter together, which comes as blocks of all ranks.
double to_gather(const Elements& of, double item, double ranks) { return item * (of.whole + (ranks + 3) * of.block); }

/// More bytes on a rank cannot be had, and shapes of them could not be counted in 64 bits.
constexpr double kBeyondAnyMachine = 1e14;

/// Elements that a step holds at least, over all ranks: the parameters, the logits and the wider arrays of a layer.
double least_elements(const TransformerConfig& config, const BatchShape& batch) {
  const double tokens = static_cast<double>(batch.sequences) * static_cast<double>(batch.tokens);
  const Index widest = std::max({config.vocab, config.d_ff, config.d_model});
  return static_cast<double>(parameter_count(config)) + tokens * static_cast<double>(widest);
}

}  // namespace

TrainingMemory training_memory(const TransformerConfig& config, const TrainingOptions& options,
                               const Strategy& strategy, const AbstractMesh& mesh, Index rank, bool saves) {
  const ElementTypes types{.real = options.dtype};
  const auto item = static_cast<double>(size_of(options.dtype));
  const double least = item * least_elements(config, options.batch) / static_cast<double>(mesh.ranks());
  if (least > kBeyondAnyMachine) return {Bytes(least), Bytes(0)};
  const TrainingStep step_model = make_training_step(config, options.batch, options.adamw);
  const Planned step(step_model.model.program, mesh, strategy, options);
  const Planned evaluation(make_evaluation(config, options.batch).program, mesh, strategy, options);

  const Bytes moments(item * step.on_heap(Role::optimizer_state, rank));
  const Bytes state = moments + Bytes(item * step.on_heap(Role::parameter, rank));
  double all_weights = 0;
  double initialising = 0;
  double gathering = 0;
  for (const ModelParameter& parameter : step_model.model.parameters) {
    const Elements of = step.elements(parameter.array, rank);
    all_weights += item * of.whole;
    initialising = std::max(initialising, to_initialise(of, item));
    const double turned = rank == 0 ? 2 * item * of.whole : 0;  // into the form in which it is stored
    gathering = std::max(gathering, to_gather(of, item, static_cast<double>(mesh.ranks())) + turned);
  }
  TrainingMemory memory;
  memory.own =
      std::max({heap_peak(step.arena, step.liveness, types, rank),
                heap_peak(evaluation.arena, evaluation.liveness, types, rank) + moments, state + Bytes(initialising)});
  if (saves) memory.own = std::max(memory.own, state + Bytes(gathering + (rank == 0 ? all_weights : 0)));
  // Parameters are those of the step; only what the evaluation makes itself needs room beside them.
  memory.arena =
      Bytes(static_cast<double>(step.arena.total_bytes() == 0 ? 0 : step.arena.total_bytes() + evaluation.arena.bytes));
  return memory;
}

}  // namespace shardline
