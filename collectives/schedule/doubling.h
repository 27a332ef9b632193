#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Algorithm `doubling`: a number of steps that grows with the logarithm of the positions, for arrays so small that the
// number of messages is what costs. All but all_reduce are Bruck's, for any number of positions.
//
// all_gather: in a step of distance k = 1, 2, 4, ... a position that has the blocks of the k positions from itself on
// gets those of the next k from the position k further. reduce_scatter: the way back, distances from the largest down:
// a position hands the sums for the blocks from k places further on to the position there, until its own sum is left.
// all_reduce: positions at distance 1, 2, 4, ... exchange whole sums; the lower position's comes first in every
// addition, so that all have the same bits. Positions beyond the largest power of two hand their operand in before and
// get the result after. Sends the array once a step, where reduce_scatter and all_gather send it less than twice in
// all: this is for small arrays. all_to_all: blocks travel by the binary digits of their distance, all with the same
// digit in one message, packed. Each is sent as often as its distance has ones.

/// As torus_all_gather().
Schedule doubling_all_gather(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_reduce_scatter().
Schedule doubling_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks);

/// `elements` of input and output, which may be the same memory.
Schedule doubling_all_reduce(const Placement& placement, Index elements);

/// The own block is the caller's to move.
Schedule doubling_all_to_all(const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
