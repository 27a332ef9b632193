#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collectives/progress.h"
#include "program/arena_plan.h"
#include "program/element_types.h"
#include "program/estimate.h"
#include "program/liveness.h"
#include "program/rank_program.h"
#include "runtime/tensor.h"
#include "runtime/trace.h"

namespace shardline {

/// Runs a per-rank program on the ranks of a mesh, step by step in program order, and times every step. Buffers are
/// freed after their last use; updated state takes the place of the old. What collectives read and write lies in the
/// engine's arena, if it has one with room for it (see ArenaPlan), so that ranks of a node read it from each other.
class Executor {
 public:
  /// Collective over the mesh of `engine`: compares a hash of the printed program over the ranks and throws Error when
  /// they differ. `estimates` (of the same steps) stand beside the measured times.
  Executor(const RankProgram& program, collectives::Engine& engine, ElementTypes types,
           const std::vector<StepEstimate>& estimates);

  /// Gives this rank's block of an input; its storage is shared, and overwritten when the input is state that is
  /// updated, unless it must be copied to the arena. Collective over the mesh where the input is communicated. Throws
  /// Error when dtype or shape are not those of the block.
  void set(ArrayId input, Tensor block);
  /// Gives an input that every rank holds whole, a scalar.
  void set_scalar(ArrayId input, double value);
  /// This rank's block of an input, or of an output after run().
  const Tensor& get(ArrayId array) const;
  double get_scalar(ArrayId array) const;

  /// Collective over the mesh. Every input must have been set. Afterwards each updated state stands in its input.
  void run();

  /// One label per step and one span per step and run.
  const Trace& trace() const { return trace_; }
  void forget_times() { trace_.clear_spans(); }

 private:
  void describe(const std::vector<StepEstimate>& estimates);
  void compare_ranks() const;
  void take_arena();
  Tensor in_arena(VersionId input, Tensor block);
  void run_step(const Step& step, int number);
  void compute(const Step& step, int number);
  void convert(const Step& step, int number);
  void release(int number);
  Tensor result_storage(int number, std::size_t result);
  void replace_state();
  Tensor& at(VersionId v) { return values_[static_cast<std::size_t>(v)]; }
  DType dtype(VersionId v) const { return types_.of(program_.program, program_.version(v).array); }
  Tensor fresh(VersionId v) const;

  const RankProgram& program_;
  collectives::Engine& engine_;
  ElementTypes types_;
  Index rank_;
  Liveness liveness_;
  ArenaPlan plan_;
  std::optional<Tensor> arena_;  ///< room for the places of plan_
  std::vector<Tensor> values_;   ///< by version
  std::map<ArrayId, bool> set_;
  Trace trace_;
};

}  // namespace shardline
