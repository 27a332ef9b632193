#pragma once

#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

// Gathering and reducing by `ring` and `bidirectional`.
//
// all_gather: blocks travel along the line, one place a step, and everybody keeps what passes; what is received in one
// step is sent on in the next. Over several axes the blocks gathered along one travel together along the next.
//
// reduce_scatter: the way back. A sum for each block sets out from the rank farthest from the block's owner, and every
// rank that it reaches adds its own operand. When it travels both ways the owner adds the two: (sum from the
// right-going chain and its own operand) + sum from the left-going chain. On an even ring the operand half way round is
// halved between the two chains.
//
// all_reduce: a reduce_scatter of near-equal chunks (the block rule on the flat elements) into their places in the
// output, and an all_gather of those.
//
// A one-way ring of p positions takes p - 1 steps and sends the whole array but one chunk; both ways take half as many
// and send half as much by each of the two links. Both are the least that a ring can do.

/// `chunks` are the blocks' places in the output, by position; the input is the own block. The own block is not placed
/// in the output: no position but this one needs it there, so the caller does that.
Schedule torus_all_gather(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// `chunks` are the blocks' places in the input, by position; the output is the own one. Right also when the output is
/// the own chunk of the input.
Schedule torus_reduce_scatter(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

/// `chunks` are those of input and output, which may be the same memory.
Schedule torus_all_reduce(Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks);

}  // namespace shardline::collectives
