#pragma once

#include <string>

#include "models/training/pipeline_plan.h"

namespace shardline::tools {

/// What --show-schedule prints: the timetable of a pipeline as a picture, by the prices of `hardware`, and the steps of
/// each stage's tasks in notation, with what they send. `source` names the prices: "built-in prices".
std::string schedule_text(const PipelinePlan& pipeline, const roofline::Hardware& hardware, const std::string& source);

}  // namespace shardline::tools
