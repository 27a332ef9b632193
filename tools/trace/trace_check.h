#pragma once

#include <string>

#include "tools/trace/trace_text.h"

namespace shardline::tools {

/// Reads a trace file back: what is wrong with it, or nothing. It parses, has as many processes, slices and arrows as
/// `expected`, no slices of a lane overlap, times count from 0 and arrows have both ends.
std::string fault_of_trace(const std::string& path, const TraceCount& expected);

}  // namespace shardline::tools
