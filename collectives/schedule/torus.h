#pragma once

#include <utility>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Common parts of the algorithms `ring` and `bidirectional`. The ranks of an axis lie on a line that is closed to a
// ring. Data travels along it from neighbour to neighbour. `ring` takes the whole group as one line and goes one way
// round. `bidirectional` goes both ways at once, each half way round. Over several axes it cuts the payload into parts.
// Each part takes the axes in another order, so that the links of all axes are busy all the time.

enum class Direction : std::uint8_t { right, left };
inline constexpr Direction kDirections[] = {Direction::right, Direction::left};
/// 1 to the right, -1 to the left.
inline Index sign(Direction direction) { return direction == Direction::right ? 1 : -1; }

/// The hops of data on a line in each direction. `halved`: the block half way round goes in two halves, the
/// first to the right, the second to the left.
struct Hops {
  Index right = 0;
  Index left = 0;
  bool halved = false;

  Index in(Direction direction) const { return direction == Direction::right ? right : left; }
};
/// `ring`: all hops to the right. `bidirectional`: half of them each way. A line of two has one link and sends
/// to the right.
Hops hops_on(Index length, Algorithm algorithm);

/// The ranks of one axis through this position, as a closed line.
struct Line {
  std::vector<Index> members;  ///< positions in the group
  Index index = 0;             ///< of this position among them
  Hops hops;

  Index length() const { return static_cast<Index>(members.size()); }
  /// Index `offset` places further round.
  Index at(Index offset) const { return ring_position(index, offset, length()); }
  Index peer(Direction direction, Index distance) const {
    return members[static_cast<std::size_t>(at(sign(direction) * distance))];
  }
};

/// A part of the payload, and the order in which it takes the axes. Each axis is given as the line along it. `ring` has
/// one route with one line, the whole group.
struct Route {
  std::vector<std::size_t> axes;  ///< positions in Placement::axis_sizes; empty for the line of the whole group
  std::vector<Line> lines;        ///< in the order in which an all_gather takes them
  double begin = 0;               ///< the part of every block, as fractions of its size
  double end = 1;

  /// The part of a block.
  Range part(Range block) const;
};

/// The positions that differ from `position` at most on the axes of the lines [lines.begin, lines.end) of `route`, in
/// order.
std::vector<Index> positions_along(const Route& route, Range lines, const Placement& placement, Index position);

/// The routes of a gather or scatter: one for `ring` and for one axis. `bidirectional` over several axes has
/// the rotations of their order, with parts that load all links equally if blocks are equal.
std::vector<Route> gather_routes(Algorithm algorithm, const Placement& placement);

/// The same with equal parts. In an exchange the load of an axis does not depend on the order.
std::vector<Route> exchange_routes(Algorithm algorithm, const Placement& placement);

/// The two strands of one route. add() adds a round to one of them. Rounds added after meet() wait until both strands
/// have finished the rounds added before.
class Strands {
 public:
  explicit Strands(Schedule& schedule);
  void add(Direction direction, Round round);
  void meet();

 private:
  Strand& strand(Direction direction) { return schedule_.strands[first_ + static_cast<std::size_t>(direction)]; }

  Schedule& schedule_;
  std::size_t first_;
  std::vector<Need> pending_[2];
};

/// The first and the second half of a range; the first is the larger.
std::pair<Range, Range> halves(Range range);

/// The half of a block that travels in `direction`.
Range half(Range range, Direction direction);

}  // namespace shardline::collectives
