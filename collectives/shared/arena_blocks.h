#pragma once

#include <optional>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// The taken parts of an arena. Every rank of a mesh has the same list of blocks. The ranks differ only in the
/// blocks that they still hold. A block is free again when all ranks agree that none holds it. Pure data.
class ArenaBlocks {
 public:
  explicit ArenaBlocks(Index capacity) : capacity_(capacity) {}

  /// Takes the first gap that holds `bytes` and returns its begin; empty if there is none.
  std::optional<Index> take(Index bytes);
  /// This rank no longer needs the block at `begin`.
  void let_go(Index begin);
  /// In order of place: 1 for a block that this rank holds, 0 for a block that it let go.
  std::vector<Index> held() const;
  /// Frees the blocks whose entry, in the order of held(), is 0.
  void keep(const std::vector<Index>& held_somewhere);

  Index capacity() const { return capacity_; }
  /// Bytes of all blocks that are not free.
  Index taken() const;
  Index largest_gap() const;

 private:
  struct Block {
    Range place;
    bool held = true;
  };
  Index capacity_;
  std::vector<Block> blocks_;  ///< in order of place
};

}  // namespace shardline::collectives
