#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::tools {

/// What a rank was at.
enum class Doing : std::uint8_t {
  product,
  computation,  ///< any other
  collective,
  early,  ///< in a collective that the last rank has not entered yet
};

/// One thing that a rank did, from `begin` to `end` after the first rank began.
struct TimelineSpan {
  Doing doing = Doing::computation;
  Seconds begin;
  Seconds end;
  std::string name;
};

/// What the figure shows: the spans of some ranks.
struct TimelineFigure {
  struct Rank {
    Index rank = 0;
    std::vector<TimelineSpan> spans;  ///< in any order; those of computation do not overlap
  };
  std::vector<Rank> ranks;
};

/// A lane of computation and one of communication for each rank, over time. Where there would be more boxes than
/// `most`, neighbours that are too short to be seen apart become one.
std::string timeline_svg(const TimelineFigure& timeline, std::size_t most = 600);

}  // namespace shardline::tools
