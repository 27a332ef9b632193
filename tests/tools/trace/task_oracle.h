#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/tools/trace/trace_events.h"

namespace shardline::trace_oracle {

/// The faults of the tasks of a pipeline in a trace. `stages`: by process. `expected`: by stage, the tasks of a
/// training step in the order of the timetable.
std::vector<std::string> task_faults(const TraceEvents& events, const std::map<int, int>& stages,
                                     const std::vector<std::string>& expected);

}  // namespace shardline::trace_oracle
