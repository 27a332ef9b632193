#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "program/plan/compiled.h"
#include "program/run/binding.h"
#include "program/run/conversion_run.h"
#include "program/run/prepared_step.h"
#include "program/run/stage_ranks.h"
#include "program/run/state.h"
#include "program/run/sweep_run.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/recording.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// Runs a compiled program on the ranks of a mesh in the order of its schedule, and times every
/// step. Frees buffers after their last use. Updated state replaces the old state: in the executor,
/// or in a bound State. The arrays of collectives lie in the engine's arena, if it has room for
/// them (see ArenaPlan), so ranks of a node read them from each other. While collectives are in
/// flight, the engine is polled between steps and between panels of matrix products.
class Executor {
 public:
  /// Collective over the mesh of `engine`: compares a hash of the printed program and its schedule
  /// over the ranks, and throws Error if they differ. Also compares the ranks' clocks. The trace
  /// shows predictions beside measured times.
  Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine);
  /// The same on the mesh of `state`, which must outlive the executor. Every run finds its inputs
  /// in the state by name, and leaves their updates there. Throws Error with both descriptions if
  /// program and state disagree on an array. Throws Error if the state lacks an array that is state
  /// of the program.
  /// `stages`: for the program of a stage, its ranks, which must outlive the executor; then the call is collective over
  /// all ranks of the pipeline, and so is align().
  Executor(std::shared_ptr<const Compiled> compiled, State& state, StageRanks* stages = nullptr);

  /// Sets this rank's block of an input that is not in the state. Its storage is shared, and
  /// overwritten if the program updates this input, unless it must be copied to the arena.
  /// Collective over the mesh if the input is communicated; then the blocks of all ranks, or of
  /// none, lie in the arena already. Throws Error if dtype or shape are
  /// wrong.
  void set(ArrayId input, Tensor block);
  /// Sets a scalar input, which every rank holds.
  void set_scalar(ArrayId input, double value);
  /// This rank's block of an input, or of an output after run(). Throws Error if the output lay in
  /// the shared room and another executor on the same state has run since.
  const Tensor& get(ArrayId array) const;
  double get_scalar(ArrayId array) const;

  /// Collective over the mesh. Every input must be set, except arrays of the state that the program
  /// only writes. Afterwards each input holds its updated state.
  void run();

  const Compiled& compiled() const { return *compiled_; }
  /// One label per step, and one span per step and run. The span of a collective goes from this
  /// rank's entry to its exit. In flight: from its start until the rank saw its end. It is exposed
  /// while the rank waited for it, and while it started and polled collectives since the last wait.
  /// The span of a computation beside collectives counts only the time of computing. In a sweep the spans of the steps
  /// lie one after another, each as long as its step took in all strips. Clocks are
  /// compared in the constructor and in align().
  const Trace& trace() const { return trace_; }
  /// Collective over the mesh: compares the ranks' clocks again, those of all stages. So the drift over the spans since
  /// the last time is known.
  void align() { trace_.align(compare_clocks(stages_ != nullptr ? stages_->all() : engine_.mesh())); }
  void forget_times() { trace_.clear_spans(); }
  /// Forgets the times of all runs but the last `runs`.
  void keep_times(std::size_t runs) { trace_.keep_last(runs * trace_.labels().size()); }
  /// Notes the details of every run from now on in `recording`, which must outlive the executor.
  /// Null stops it.
  void set_recording(Recording* recording) { recording_ = recording; }

 private:
  /// A collective in flight, or several as one.
  struct Flight {
    collectives::Handle handle;
    Seconds begin;
    std::optional<Tensor> bundle;
  };

  Executor(std::shared_ptr<const Compiled> compiled, collectives::Engine& engine, State* state, StageRanks* stages);
  void check_place() const;
  const BoundInput* find_bound(ArrayId array) const;
  void take_state();
  void compare_ranks() const;
  void take_arena();
  Tensor in_arena(VersionId input, Tensor block);
  Tensor arena_tensor(Index offset, DType dtype, Shape shape);
  void run_action(int number);
  void run_step(int number, bool polls);
  std::vector<TimeRange> compute(int number);
  ConversionBlocks blocks_of(const Step& conversion);
  void start(const Action& action, int number);
  void wait(const Action& action);
  Flight start_bundle(const std::vector<int>& steps, int action);
  Flight start_move(int number);
  void fuse(const Action& action, int number);
  void go_round(const Action& action, int number);
  void sweep(const Action& action, int number);
  void record_messages(Recording* recording);
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
  const RankProgram& program_;  ///< the next four references are parts of compiled_ too
  const ProgramSchedule& schedule_;
  const Liveness& liveness_;
  const ArenaPlan& plan_;
  collectives::Engine& engine_;
  State* state_;        ///< null: this executor keeps updated state
  StageRanks* stages_;  ///< null: no stages
  std::vector<BoundInput> bound_;
  std::vector<ArrayId> given_;  ///< inputs that set() must provide
  Index rank_;
  std::optional<Tensor> arena_;         ///< memory for the places of plan_
  std::vector<Tensor> values_;          ///< by version
  std::vector<PreparedStep> prepared_;  ///< by step
  std::map<int, SweepRun> sweeps_;      ///< by action
  std::map<int, Flight> flights_;       ///< by their first step
  Seconds served_;                      ///< time on collectives in flight since the last wait
  std::map<ArrayId, bool> set_;
  Trace trace_;
  Recording* recording_ = nullptr;
};

}  // namespace shardline
