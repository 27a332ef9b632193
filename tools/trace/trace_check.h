#pragma once

#include <string>

#include "tools/trace/trace_text.h"

namespace shardline::tools {

/// Reads a trace file back. Returns its fault, or an empty text. Checks: it parses; it has the
/// processes, slices and arrows of `expected`; slices of a lane do not overlap; times start at 0;
/// arrows have both ends.
std::string fault_of_trace(const std::string& path, const TraceCount& expected);

}  // namespace shardline::tools
