#pragma once

#include <functional>

#include "collectives/options.h"
#include "collectives/schedule.h"

namespace shardline::collectives {

/// What a collective costs on the wire, whatever the wire is.
struct Traffic {
  Index steps = 0;       ///< messages one after the other on the position that has most of them, segments not counted
  Index wire_bytes = 0;  ///< bytes leaving the busiest position (in its busiest direction: our rings send one way only)
  bool operator==(const Traffic&) const = default;
};

/// Derived from the schedules of all positions, so that it agrees with what their execution counts.
Traffic traffic(Index positions, Index element_size, const std::function<Schedule(Index position)>& schedule_of);

/// The same for near-equal blocks. `elements` is the larger side of the collective on one position: the result of an
/// all_gather, the operand of a reduce_scatter, the array of an all_reduce or shift, what one position holds in an
/// all_to_all. Takes time of order positions^2. Throws Error for `native`, which has no schedule.
Traffic traffic(Kind kind, Algorithm algorithm, Index positions, Index elements, Index element_size);

}  // namespace shardline::collectives
