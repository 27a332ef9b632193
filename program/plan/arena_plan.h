#pragma once

#include <map>
#include <vector>

#include "program/ir/rank_program.h"
#include "program/plan/liveness.h"

namespace shardline {

/// Places in shared memory for the arrays that a per-rank program communicates. Ranks of a node can
/// then read them from each other. Pure data, the same on every rank: each place has room for the
/// largest block. Arrays whose lifetimes do not overlap share room.
struct ArenaPlan {
  /// Byte offset of every version that the program makes and a collective reads or writes. A
  /// version that takes over storage has the offset of the version before.
  std::map<VersionId, Index> places;
  std::map<int, Index> bundles;  ///< byte offset of each bundle of all_reduces, by the action that starts it
  Index bytes = 0;               ///< size of places and bundles together
  /// Input versions that a collective reads, or that become results of one, with their bytes.
  std::map<VersionId, Index> inputs;
  Index input_bytes = 0;  ///< their sum

  /// The arena size that holds all of them. Each is rounded up to whole cache lines.
  Index total_bytes() const { return bytes + input_bytes; }
  /// True if the version lies in the arena.
  bool holds(VersionId v) const { return places.contains(v) || inputs.contains(v); }
};

/// The arrays of collectives and their places. Pure; the same on all ranks.
ArenaPlan plan_arena(const RankProgram& program, const Liveness& liveness);

/// Most bytes of arrays that `rank` holds at once outside the arena.
Bytes heap_peak(const ArenaPlan& plan, const Liveness& liveness, Index rank);

}  // namespace shardline
