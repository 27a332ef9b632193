#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "program/plan/compiled.h"
#include "program/run/binding.h"
#include "program/run/prepared_step.h"
#include "program/run/state.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/recording.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// Runs a compiled program on the ranks of a mesh as its schedule says, and times every step. Buffers are freed after
/// their last use; updated state takes the place of the old, in the executor or, when it is bound to a State, there.
/// What collectives read and write lies in the engine's arena, if it has one with room for it (see ArenaPlan), so that
/// ranks of a node read it from each other. While collectives are in flight the engine is polled between steps and
/// between the panels of matrix products.
class Executor {
 public:
  /// Collective over the mesh of `engine`: compares a hash of the printed program and its schedule over the ranks,
  /// throws Error when they differ, and compares the ranks' clocks. What the program predicts stands beside the
  /// measured times.
  Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine);
  /// The same on the mesh of `state`, which must outlive the executor. Inputs that the state holds are found there by
  /// name at every run, and their updates are left there. Throws Error with both descriptions when program and state
  /// disagree on an array, and when the state lacks one that the program takes for state.
  Executor(std::shared_ptr<const Compiled> compiled, State& state);

  /// Gives this rank's block of an input that is not in the state; its storage is shared, and overwritten when the
  /// input is state that is updated, unless it must be copied to the arena. Collective over the mesh where the input is
  /// communicated. Throws Error when dtype or shape are not those of the block.
  void set(ArrayId input, Tensor block);
  /// Gives an input that every rank holds whole, a scalar.
  void set_scalar(ArrayId input, double value);
  /// This rank's block of an input, or of an output after run(). Throws Error when another executor on the same state
  /// has run since and the output lay in the room that they share.
  const Tensor& get(ArrayId array) const;
  double get_scalar(ArrayId array) const;

  /// Collective over the mesh. Every input must have been set, but for arrays of the state that the program only
  /// writes. Afterwards each updated state stands in its input.
  void run();

  const Compiled& compiled() const { return *compiled_; }
  /// One label per step and one span per step and run. The span of a collective reaches from where this rank entered
  /// it to where it left, which for one in flight is from its start to where the rank saw that it was done; it is
  /// exposed as long as the rank waited for it or started and polled collectives since it last waited. The span of a
  /// computation beside them lasts as long as the rank computed. Clocks are compared when the executor is made and in
  /// align().
  const Trace& trace() const { return trace_; }
  /// Collective over the mesh: compares the clocks of the ranks once more, so that their drift over the spans recorded
  /// since the last time is known.
  void align() { trace_.align(compare_clocks(engine_.mesh())); }
  void forget_times() { trace_.clear_spans(); }
  /// Notes the details of every run from now on in `recording`, which must outlive it; null: no more.
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  /// A collective that was started, or several as one.
  struct Flight {
    collectives::Handle handle;
    Seconds begin;
    std::optional<Tensor> bundle;
  };

  Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine, State* state);
  const BoundInput* find_bound(ArrayId array) const;
  void take_state();
  void describe();
  void compare_ranks() const;
  void take_arena();
  Tensor in_arena(VersionId input, Tensor block);
  Tensor arena_tensor(Index offset, DType dtype, Shape shape);
  void run_action(int number);
  void run_step(int number, bool polls);
  std::vector<TimeRange> compute(int number, bool polls);
  void start(const Action& action, int number);
  void wait(const Action& action);
  Flight start_bundle(const std::vector<int>& steps, int action);
  void fuse(const Action& action, int number);
  void enter(int label);
  void record(const Span& span, std::vector<TimeRange> parts = {});
  void record_wait(int label, Seconds begin);
  void make_results(int number);
  void release(int action);
  void replace_state();
  const Step& step(int number) const { return program_.steps[static_cast<std::size_t>(number)]; }
  Tensor& at(VersionId v) { return values_[static_cast<std::size_t>(v)]; }
  DType dtype(VersionId v) const { return program_.array_of(v).dtype; }

  std::shared_ptr<const Compiled> compiled_;
  const RankProgram& program_;  ///< this and the next four are parts of compiled_
  const ProgramSchedule& schedule_;
  const Liveness& liveness_;
  const ArenaPlan& plan_;
  collectives::Engine& engine_;
  State* state_;  ///< or null: what a run updates is kept here
  std::vector<BoundInput> bound_;
  std::vector<ArrayId> given_;  ///< inputs that set() must give
  Index rank_;
  std::optional<Tensor> arena_;         ///< room for the places of plan_
  std::vector<Tensor> values_;          ///< by version
  std::vector<PreparedStep> prepared_;  ///< by step
  std::map<int, Flight> flights_;       ///< by the first of their steps
  Seconds served_;                      ///< spent on collectives in flight since one was last waited for
  std::map<ArrayId, bool> set_;
  Trace trace_;
  Recording* recording_ = nullptr;
};

}  // namespace shardline
