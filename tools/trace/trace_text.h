#pragma once

#include <string>

#include "tools/trace/trace_lanes.h"

namespace shardline::tools {

/// The number of events of each kind, to check a file.
struct TraceCount {
  Index processes = 0;
  Index slices = 0;
  Index arrows = 0;  ///< heads; each has one tail
};

/// The title of a rank in a viewer.
struct RankTitle {
  Index rank = 0;
  std::string name;   ///< "rank 0 (host, X=0, Y=1)"
  std::string label;  ///< the uncertainty of its clock
};

/// The events of one rank in the trace-event format, as lines of JSON with commas between them.
/// Order: metadata; complete events in lane order, with arrows beside their slices; counters. Adds
/// them to `count`. Replaces bytes that are not UTF-8.
std::string text_of(const RankTitle& title, const RankEvents& events, TraceCount& count);

/// The text of a file before the first rank's events and after the last rank's events.
std::string text_before(const Json& other_data);
std::string text_after();

}  // namespace shardline::tools
