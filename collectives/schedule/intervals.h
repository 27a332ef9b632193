#pragma once

#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// A set of positions, stored as the fewest intervals.
class Intervals {
 public:
  void add(Range range);
  /// True for an empty range.
  bool contains(Range range) const;
  /// The parts of `range` that are not in the set, in order.
  std::vector<Range> missing(Range range) const;
  /// Positions in the set.
  Index size() const;

 private:
  std::vector<Range> ranges_;  ///< none empty, in order, apart from each other
};

}  // namespace shardline::collectives
