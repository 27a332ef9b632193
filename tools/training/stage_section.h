#pragma once

#include "tools/report/page.h"
#include "tools/training/stage_record.h"

namespace shardline::tools {

/// The stages of a pipeline: the timetable as measured in the shown step, beside its prediction; and where the time of
/// the step went.
Section stage_section(const PipelineRecord& pipeline);

}  // namespace shardline::tools
