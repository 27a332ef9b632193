#pragma once

#include <string>
#include <vector>

#include "models/training/training.h"
#include "program/run/measure.h"
#include "tools/job.h"

namespace shardline::tools {

/// What a stage of a pipeline did in a run.
struct StageRecord {
  std::vector<int> layers;    ///< by number; 0 is the embedding, the last one the output projection
  double predicted_idle = 0;  ///< share of the step in which the stage has nothing to do
  double measured_idle = 0;   ///< share of the median step in which it waited for other stages
  Bytes predicted_memory = {};
  Bytes measured_memory = {};
};

/// Collective over all ranks, equal on all of them: the stages of a run, in order; none without a pipeline. `measured`
/// has the labels of this rank's stage, over `runs` steps; `step` is the median time of a step.
std::vector<StageRecord> stage_records(Job& job, const Trainer& trainer, const std::vector<Measured>& measured,
                                       int runs, Seconds step);

/// A line for each stage.
std::string stages_text(const std::vector<StageRecord>& stages);
Json stages_json(const std::vector<StageRecord>& stages);

}  // namespace shardline::tools
