#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// all_gather, reduce_scatter and all_reduce by `ring` and `bidirectional`. torus_reduce.cpp draws the rounds.
//
// all_gather: blocks travel along the line, one place in each round. Every position keeps a copy and sends the block on
// in the next round. Over several axes, the blocks gathered along one axis travel together along the next.
//
// reduce_scatter: the same in the opposite order. The sum of a block starts at the rank that is farthest from the
// block's owner, and every rank that it reaches adds its own operand. When sums travel both ways, the owner computes
// (sum that went right + its own operand) + sum that went left. On an even ring the operand half way round is cut into
// two halves, one for each way.
//
// all_reduce: a reduce_scatter of near-equal chunks (the block rule on the flat elements) into their places in the
// output, and then an all_gather of these chunks.
//
// A one-way ring of p positions takes p - 1 rounds, and each position sends the whole array except one chunk. Both ways
// take half as many rounds and send half as much by each of the two links. A ring cannot do with less.

/// `chunks` are the places of the blocks in the output, by position. The input is the own block. The caller copies the
/// own block to the output: no other position needs it there.
Schedule torus_all_gather(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// `chunks` are the places of the blocks in the input, by position. The output is the own block. It may be the own
/// chunk of the input.
Schedule torus_reduce_scatter(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// `chunks` are those of input and output, which may be the same memory.
Schedule torus_all_reduce(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

}  // namespace shardline::collectives
