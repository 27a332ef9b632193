#pragma once

#include <string>
#include <vector>

#include "models/training/training.h"
#include "tools/job.h"
#include "tools/training/run_checkpoints.h"
#include "tools/training/run_log.h"

namespace shardline::tools {

/// The loss on held-out samples after a step, which counts from 1.
struct HeldOutLoss {
  Index step = 0;
  double loss = 0;
};

/// A sentence about steps that became slower, and the first of them, from 1.
struct SlowerSteps {
  Index since = 0;
  std::string text;
};

/// The steps that a run has done, from TrainingRun::begin on.
struct Progress {
  std::vector<StepResult> steps;
  std::vector<HeldOutLoss> held_out;  ///< of --eval-every
  std::vector<SlowerSteps> slower;
  bool interrupted = false;
};

/// The number of first steps that do not count: their caches are cold and their memory is new. 0 in a run that is
/// planned to be very short.
std::size_t warmup_of(Index planned_steps);

/// The times of operations are kept of this many last steps, and of up to twice as many.
inline constexpr std::size_t kTimedSteps = 200;

/// The end of a message about numbers that are not finite.
inline constexpr const char* kDiverged = ": training diverged; a smaller --lr may help";

/// A loss for a message, without the sign of a NaN, which means nothing.
std::string loss_number(double value);

/// What the model counts: "tokens", or "samples" for an MLP.
const char* sample_name(const TrainingRun& run);

/// What a run leaves behind while it goes on.
struct RunOutputs {
  RunCheckpoints& checkpoints;
  RunLog& log;
  Index evaluate_every = 0;  ///< steps from one held-out loss to the next; 0: none
};

/// The most batches of held-out samples for one loss. A run of few steps takes few batches.
Index evaluation_batches(Index steps);

/// Collective over all ranks: the steps of the run. A request to stop ends the run after the current step. Throws
/// ResultError when a loss or a gradient's norm is not finite.
Progress run_steps(Job& job, Trainer& trainer, const SampleSource& data, const RunOutputs& outputs);

}  // namespace shardline::tools
