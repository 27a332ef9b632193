#pragma once

#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/liveness.h"

namespace shardline {

/// Where the arrays that a per-rank program communicates lie in shared memory, so that ranks of a node can read them
/// from each other. Pure, and the same on every rank: room is that of the largest block. Arrays whose lives do not
/// overlap share room.
struct ArenaPlan {
  /// Byte offset of every version that a collective reads or writes and that the program makes itself; a version that
  /// takes over storage has the offset of the one it takes.
  std::map<VersionId, Index> places;
  std::map<int, Index> bundles;  ///< byte offset of the room for all_reduces that travel together, by their start
  Index bytes = 0;               ///< that places and bundles take together
  /// Versions of inputs that a collective reads, or that become results of one, with their bytes.
  std::map<VersionId, Index> inputs;
  Index input_bytes = 0;  ///< of those together

  /// What an arena needs to hold all of them; each is counted to whole cache lines.
  Index total_bytes() const { return bytes + input_bytes; }
  /// Whether a version lies in the arena.
  bool holds(VersionId v) const { return places.contains(v) || inputs.contains(v); }
};

ArenaPlan plan_arena(const RankProgram& program, const Liveness& liveness);

/// Most bytes of arrays that `rank` holds at once outside of the arena.
Bytes heap_peak(const ArenaPlan& plan, const Liveness& liveness, Index rank);

}  // namespace shardline
