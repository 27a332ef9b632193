#pragma once

#include <vector>

#include "program/ir/rank_program.h"
#include "program/price/reuse.h"
#include "program/price/wire.h"
#include "roofline/price/hardware.h"

namespace shardline {

/// The cost of one step on the busiest rank, and its price.
struct StepEstimate {
  Flops flops;
  /// A computation: operands and results. A slice or owe: reads and writes. A collective: the
  /// larger side on one rank.
  Bytes bytes;
  Bytes wire_bytes;  ///< bytes that leave the busiest rank
  roofline::Price price;
};

/// Prices every step for rank 0, which has the largest blocks. The program runs again and again;
/// reuse_distances() tells what the caches still hold. `sweeps`: steps that run strip by strip. Needs no MPI. Throws
/// Error if a moving axis has no link in `hardware`.
std::vector<StepEstimate> estimate(const RankProgram& program, const roofline::Hardware& hardware,
                                   const std::vector<StripSteps>& sweeps = {});

/// The price of one step alone. Its arrays are where repeated runs of this step leave them. `memo`:
/// see moved().
StepEstimate estimate(const RankProgram& program, const Step& step, const roofline::Hardware& hardware,
                      ReshardMemo* memo = nullptr);

/// True if machine files price this computation as matrix products, thin ones too, not as an elementwise walk.
bool multiplies_matrices(const RankProgram& program, const Step& step);

}  // namespace shardline
