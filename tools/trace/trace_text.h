#pragma once

#include <string>

#include "tools/trace/trace_lanes.h"

namespace shardline::tools {

/// How many events there are of the kinds that are counted when a file is checked.
struct TraceCount {
  Index processes = 0;
  Index slices = 0;
  Index arrows = 0;  ///< heads, of which each has one tail
};

/// What a viewer shows of a rank beside its lanes.
struct RankTitle {
  Index rank = 0;
  std::string name;   ///< "rank 0 (host, X=0, Y=1)"
  std::string label;  ///< how far its clock can be trusted
};

/// The events of one rank as lines of JSON with commas between them, in the trace-event format: metadata, then complete
/// events in the order of lanes with arrows beside their slices, then counters. Adds them to `count`. What is not UTF-8
/// is replaced.
std::string text_of(const RankTitle& title, const RankEvents& events, TraceCount& count);

/// What stands before the first and after the last rank's events in a file.
std::string text_before(const Json& other_data);
std::string text_after();

}  // namespace shardline::tools
