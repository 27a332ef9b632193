#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "models/data/sample_source.h"
#include "models/training/routing.h"
#include "models/training/training_plan.h"
#include "program/run/execute.h"
#include "program/run/stage_ranks.h"
#include "program/run/state.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// The learning rate of step `step`, which counts from 1. It rises from 0 (before the first step) along a line to the
/// full rate in the last step of the warm-up. Then a half wave of a cosine lowers it to `least_share` of the full rate
/// in the last step, and it stays there.
double learning_rate(const TrainingOptions& options, Index step);

/// One training step.
struct StepResult {
  double loss = 0;       ///< mean over the labels of the step that count, before its update; 0 if none does
  double grad_norm = 0;  ///< before clipping
  double balance = 0;    ///< what uneven routing to experts adds to the loss
  Index labels = 0;      ///< those that count; of an MLP its rows
  Seconds time;          ///< of the slowest rank
  Seconds data;          ///< for the samples of the step, on the rank that took longest; not part of `time`
  Seconds own_time;      ///< of `time`, what this rank did not wait for others; differs between ranks
  Seconds own_data;      ///< as `data`, on this rank; differs between ranks
  Bytes memory;          ///< resident memory of the rank with the most, after the step
  bool stop = false;     ///< some rank was asked to stop (see Interruption); equal on all ranks
  bool save = false;     ///< some rank was asked to save, in the same way
};

/// A model on a mesh: a state of parameters and moments, and the programs that train and evaluate the model.
class Trainer {
 public:
  /// Collective over the mesh of `engine`, which must be the mesh of `plan`. Parameters start as the run
  /// says, moments from zero. `hardware` prices the predictions. If the engine has
  /// no arena, gives it one for the communication of its programs.
  Trainer(collectives::Engine& engine, TrainingPlan plan, const roofline::Hardware& hardware);

  /// Collective over the mesh: one step on the B samples after those of the step before. `step` counts from 0 over the
  /// whole run, and its samples from those of TrainingRun::begin.
  StepResult step(const SampleSource& data, Index step);

  /// The number of the first sample of a step: all before it are read when the step begins.
  Index samples_before(Index step) const;

  /// Collective over the mesh: mean loss over the labels that count in the held-out samples, each once, or in those of
  /// the first `most_batches` batches. 0 if no label counts. Sets `read` to the number of these samples. In the last
  /// batch, rows that are not needed count nothing.
  double evaluate(const SampleSource& data, Index most_batches, Index& read);

  /// Collective over the mesh: which experts the tokens of all steps went to, or of the last evaluation, in its batches
  /// that were full. Without experts it has no layers.
  Routing routing_of_steps() const { return trained_.total(engine_); }
  Routing routing_of_evaluation() const { return evaluated_.total(engine_); }

  /// Collective over the mesh: a parameter with a non-finite element, by its checkpoint name, and the element:
  /// "lm_head.weight holds NaN". Empty if there is none. The same on every rank.
  std::string non_finite_parameter() const;

  const TrainingRun& run() const { return plan_.run; }
  const TrainingOptions& options() const { return plan_.run.options; }
  const Model& model() const { return plan_.step_model.model; }
  /// Of this rank's stage.
  const RankProgram& program() const { return programs().step->program(); }
  /// Parameters and moments, by the names of their arrays in the program.
  const State& state() const { return *state_; }
  /// The same, to change an array between two steps.
  State& state() { return *state_; }
  const Executor& executor() const { return *step_; }
  void forget_times() { step_->forget_times(); }
  /// Forgets the times of all steps but the last `steps`, so that a long run needs no more memory than a short one.
  void keep_times(std::size_t steps) { step_->keep_times(steps); }
  /// Collective over the mesh: see Executor::align().
  void align() { step_->align(); }
  /// For steps, not for evaluation: see Executor::set_recording().
  void set_recording(Recording* recording) { step_->set_recording(recording); }
  /// The reason why ranks of a node cannot read each other's arrays in shared memory; empty if they can, or
  /// need not.
  const std::string& arena_obstacle() const { return arena_obstacle_; }
  /// The predicted time of a step, by the prices of its operations and its schedule.
  /// With stages: the simulated time of the timetable, and the longest update of a stage.
  Seconds predicted_step() const;
  /// The most bytes of arrays on this rank during a step, from liveness.
  Bytes predicted_memory() const;

  /// The engine of this rank's stage: that of the constructor without a pipeline.
  collectives::Engine& engine() const { return state_->engine(); }
  const TrainingPlan& plan() const { return plan_; }
  /// The stage of this rank; 0 without a pipeline.
  int stage() const { return stage_; }

  /// Of this rank's stage.
  const StagePrograms& programs() const { return plan_.stages[static_cast<std::size_t>(stage_)]; }

 private:
  /// Some inputs of an executor, in the order of Model::samples, and the samples that they hold: from number `first`
  /// on. The labels of those from `end` on are -1.
  struct Batch {
    std::vector<ArrayId> inputs;
    Series series;
    Index first;
    Index end;
  };
  void set_samples(Executor& executor, const SampleSource& data, const Batch& batch) const;
  Index counted_labels(const SampleSource& data, Series series, Range samples) const;
  void compare_stages() const;
  void initialise();
  void set_scalar(ArrayId input, double value);
  Index rank_in_stage() const;
  void fill_by_seed(const ModelParameter& parameter);
  const std::string& name_of(const ModelParameter& parameter) const {
    return program().program.array(parameter.array).name;
  }

  collectives::Engine& engine_;  ///< of all ranks
  TrainingPlan plan_;
  int stage_ = 0;
  std::unique_ptr<StageRanks> ranks_;  ///< null without a pipeline
  std::unique_ptr<State> state_;
  std::unique_ptr<Executor> step_;
  std::unique_ptr<Executor> evaluation_;
  RoutingCount trained_;      ///< over the steps
  RoutingCount evaluated_;    ///< over the last evaluation
  std::vector<Index> order_;  ///< the positions of a sequence as its tokens lie; empty: in their own order
  std::string arena_obstacle_;
};

}  // namespace shardline
