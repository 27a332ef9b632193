#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::tools {

/// What a rank did.
enum class Doing : std::uint8_t {
  product,
  computation,  ///< any other
  collective,
  early,  ///< in a collective that the last rank has not entered
};

/// One activity of a rank. `begin` and `end` count from the begin of the first rank.
struct TimelineSpan {
  Doing doing = Doing::computation;
  Seconds begin;
  Seconds end;
  std::string name;
};

/// The content of the figure: the spans of some ranks.
struct TimelineFigure {
  struct Rank {
    Index rank = 0;
    std::vector<TimelineSpan> spans;  ///< in any order; computation spans do not overlap
  };
  std::vector<Rank> ranks;
};

/// For each rank a lane of computation and a lane of communication, over time. If there would be
/// more than `most` boxes, neighbours too short to tell apart become one box.
std::string timeline_svg(const TimelineFigure& timeline, std::size_t most = 600);

}  // namespace shardline::tools
