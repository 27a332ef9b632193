#pragma once

#include <vector>

#include "models/training/training.h"
#include "program/run/measure.h"
#include "tools/job.h"

namespace shardline::tools {

/// A step of the program of a training step, with its times on all ranks and all stages.
struct JoinedStep {
  Label label;
  Region region;
  Measured measured;
  std::vector<int> stages;  ///< that run it; {0} without a pipeline
};

/// Collective over all ranks, and equal on all of them: the steps of all stages, joined by their names and regions. A
/// step that runs on several stages, such as a part of the update, stands once, with the times of the stage that takes
/// longest. Without a pipeline: the program in order. With one: by pass and micro-batch, from layer to layer.
/// `measured` has the labels of this rank's stage.
std::vector<JoinedStep> joined_steps(const Job& job, const Trainer& trainer, const std::vector<Measured>& measured);

/// The sums by kind and axis, see summarise().
std::vector<KindSummary> summary_of(const std::vector<JoinedStep>& steps);

/// "the table sums over 2 stages; ...": a line that says how the stages were joined. Empty if only one ran.
std::string joined_text(const std::vector<JoinedStep>& steps, int stages);

}  // namespace shardline::tools
