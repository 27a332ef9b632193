#pragma once

#include <map>
#include <tuple>

#include "program/ir/rank_program.h"

namespace shardline {

/// The work of the ranks in a conversion, in elements, when every rank exchanges messages with each of the others
/// (algorithm `pairwise`). Each figure is that of the rank with the most.
struct Moved {
  Index steps = 0;     ///< messages one after the other
  Index sent = 0;      ///< leaving a rank
  Index received = 0;  ///< coming from other ranks
  Index added = 0;     ///< of what is received: added to what the rank has
  Index kept = 0;      ///< copied from a rank's operand to its own result; in an owe zeros count too
  Index packed = 0;    ///< copied once more, into messages or out of them, where they are no runs of memory
  bool operator==(const Moved&) const = default;
};

/// What is known of reshards on one mesh, by shape and both layouts.
using ReshardMemo = std::map<std::tuple<Shape, Sharding, Sharding>, Moved>;

/// What a conversion moves. A slice and an owe only keep. For a reshard on a mesh of more than 64 ranks it is what the
/// busiest of 64 of them receives, and all of that counts as packed on both sides. `memo`, where there is one, is asked
/// first and told. Throws Error for a computation.
Moved moved(const RankProgram& program, const Step& step, ReshardMemo* memo = nullptr);

/// Names the wire of every reduction of a bf16 array. By `exchange` all algorithms that hand each rank its parts round
/// once, so that the result does not depend on which of them runs.
void name_wires(RankProgram& program, collectives::Wire wire = collectives::Wire::exchange);

}  // namespace shardline
