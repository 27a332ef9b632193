#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Algorithm `doubling`: the number of rounds grows with the logarithm of the positions. It is for small arrays, whose
// cost is the number of messages. All collectives except all_reduce use Bruck's algorithms, for any number of
// positions. doubling.cpp draws the rounds.
//
// all_gather: the rounds have distances k = 1, 2, 4, ... A position has k blocks, its own and those that follow it. It
// gets the next k blocks from the position k places further.
// reduce_scatter: the opposite order, from the largest distance to 1. A position sends to the position k places further
// the sums of the blocks from there on. At the end only its own sum is left.
// all_reduce: positions at distance 1, 2, 4, ... exchange whole sums. The sum of the lower position comes first in
// every addition, so that all results have the same bits. Positions beyond the largest power of two send their operand
// to another position before, and get the result after. Each round sends the whole array, while a reduce_scatter and an
// all_gather together send it less than twice.
// all_to_all: a block travels by the binary digits of its distance. All blocks that move in one round go packed in one
// message. A block is sent once for each digit 1 of its distance.

/// As torus_all_gather().
Schedule doubling_all_gather(const Placement& placement, const std::vector<Range>& chunks);

/// As torus_reduce_scatter().
Schedule doubling_reduce_scatter(const Placement& placement, const std::vector<Range>& chunks);

/// `elements` of input and output, which may be the same memory.
Schedule doubling_all_reduce(const Placement& placement, Index elements);

/// The caller copies the own block.
Schedule doubling_all_to_all(const Placement& placement, const Exchange& exchange);

}  // namespace shardline::collectives
