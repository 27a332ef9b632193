#pragma once

#include <vector>

#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// The messages and bytes of a collective. They do not depend on the speed of the links.
struct Traffic {
  Index rounds = 0;      ///< messages one after the other, on the position with most of them; segments do not count
  Index wire_bytes = 0;  ///< bytes leaving the busiest position in its busiest direction; for `direct`: read from peers
  bool operator==(const Traffic&) const = default;
};

/// The traffic on a group whose axes have these sizes, major first. Comes from the schedules of all positions
/// for near-equal blocks, so it equals the counts of an execution. `elements` is the larger side of the
/// collective on one position: the result of an all_gather, the operand of a reduce_scatter, the array of an
/// all_reduce or shift, the array on one position of an all_to_all. Takes time of order positions^2. Throws
/// UsageError for `native`, which has no schedule, and for `automatic`, which must be resolved first.
Traffic traffic(Kind kind, Algorithm algorithm, const std::vector<Index>& axis_sizes, Index elements,
                const ElementSizes& sizes);

}  // namespace shardline::collectives
