#pragma once

#include <map>
#include <tuple>

#include "program/ir/rank_program.h"

namespace shardline {

/// The work of the ranks in a conversion, in elements, if every rank exchanges messages with every
/// other rank (algorithm `pairwise`). Each number is that of the rank with the most.
struct Moved {
  Index steps = 0;     ///< messages, one after another
  Index sent = 0;      ///< leaving a rank
  Index received = 0;  ///< coming from other ranks
  Index added = 0;     ///< received elements that are added to those of the rank
  Index kept = 0;      ///< copied from a rank's operand to its own result; for an owe also zeros
  Index packed = 0;    ///< copied once more, into or out of messages, where memory is not contiguous
  bool operator==(const Moved&) const = default;
};

/// Known reshards on one mesh, by shape and both layouts.
using ReshardMemo = std::map<std::tuple<Shape, Sharding, Sharding>, Moved>;

/// What a conversion moves. A slice and an owe only keep. A reshard on more than 64 ranks takes the
/// busiest of 64 of them: what this rank receives, and all of it counts as packed on both sides.
/// `memo`, if given, is read first and filled. Throws Error for a computation.
Moved moved(const RankProgram& program, const Step& step, ReshardMemo* memo = nullptr);

/// Names the wire of every reduction of a bf16 array. With `exchange` all algorithms that give each
/// rank its parts round once, so the result does not depend on the algorithm.
void name_wires(RankProgram& program, collectives::Wire wire = collectives::Wire::exchange);

}  // namespace shardline
