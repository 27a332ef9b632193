#pragma once

#include <string>
#include <vector>

#include "models/training/training.h"
#include "program/timetable/step_parts.h"
#include "tools/job.h"
#include "tools/training/task_times.h"

namespace shardline::tools {

/// What a stage of a pipeline did in a run. The parts are means over the ranks of the stage.
struct StageRecord {
  std::vector<int> layers;  ///< by number; 0 is the embedding, the last one the output projection
  StepParts predicted;
  StepParts measured;  ///< of the shown step
  Bytes predicted_memory = {};
  Bytes measured_memory = {};
};

/// One of the timed training steps.
struct ShownStep {
  Index number = 1;     ///< among all steps of the run
  std::size_t run = 0;  ///< among the steps whose spans are kept
  Seconds time;
};

/// What the stages of a pipeline did in a run.
struct PipelineRecord {
  std::string name;  ///< of the timetable
  Timetable timetable;
  ShownStep shown;
  TaskTimes predicted;
  TaskTimes measured;               ///< in the shown step, on the first rank of each stage
  std::vector<StageRecord> stages;  ///< none without a pipeline
};

/// Collective over all ranks, equal on all of them. Without a pipeline it has no stages.
PipelineRecord pipeline_record(Job& job, const Trainer& trainer, const ShownStep& shown);

/// Where the time of the shown step went, by stage and over all, measured above predicted; the layers and the memory of
/// each stage. Empty without stages.
std::string stages_text(const PipelineRecord& pipeline);
/// "stage 0", "predicted", ..., "mean of all": the name of each row and its parts.
std::vector<std::pair<std::string, StepParts>> rows_of_parts(const PipelineRecord& pipeline);

/// Adds the keys `timetable`, `shown_step`, `stages` and `all_stages` of a record.
void add_stage_keys(Json& json, const PipelineRecord& pipeline);

}  // namespace shardline::tools
