#pragma once

#include <optional>
#include <vector>

#include "models/training/training.h"
#include "program/timetable/step_parts.h"
#include "tools/job.h"
#include "tools/trace/trace_lanes.h"

namespace shardline::tools {

/// What the trace of this rank says of its stage; nothing without a pipeline.
std::optional<TracedStage> traced_stage(Job& job, const Trainer& trainer);

/// The tasks of one training step on ranks that have the same place on all stages. Times of tasks are indexed by
/// number_of(timetable, task). Times count from the begin of the first rank.
struct TaskTimes {
  StepTimes times;                ///< of a task from the first to the last of its steps, without waits for other stages
  std::vector<TimeRange> ranges;  ///< by task: so long before its end
};

/// What the prices of the job's machine say.
TaskTimes predicted_tasks(Job& job, const Trainer& trainer);

/// Collective over all ranks, and equal on all of them: by place on the mesh of a stage, the measured tasks of run
/// `run` of those that the trace has, from 0 on. `step` is the time of this training step.
std::vector<TaskTimes> measured_tasks(const Job& job, const Trainer& trainer, std::size_t run, Seconds step);

}  // namespace shardline::tools
