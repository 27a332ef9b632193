#pragma once

#include <vector>

#include "program/ir/rank_program.h"
#include "program/price/wire.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// What one step takes on the busiest rank, and its price.
struct StepEstimate {
  Flops flops;
  /// Of a computation: operands and results; of a slice or an owe: read and written; of a collective: the larger side
  /// on one rank.
  Bytes bytes;
  Bytes wire_bytes;  ///< leaving the busiest rank
  roofline::Price price;
};

/// Prices every step for rank 0, which holds the largest blocks, in runs of the program one after another: what caches
/// still hold follows from reuse_distances(). Needs no MPI. Throws Error when an axis that moves has no link in
/// `hardware`.
std::vector<StepEstimate> estimate(const RankProgram& program, const roofline::Hardware& hardware);

/// The price of one step of `program` by itself: its arrays are where they would be if it ran again and again. `memo`:
/// see moved().
StepEstimate estimate(const RankProgram& program, const Step& step, const roofline::Hardware& hardware,
                      ReshardMemo* memo = nullptr);

/// Index ranges that `rank` holds in a computation.
std::vector<Range> index_ranges(const RankProgram& program, const Step& step, Index rank);

}  // namespace shardline
