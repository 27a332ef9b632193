#pragma once

#include <optional>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// Which parts of an arena are taken. Every rank of a mesh keeps the same list and differs only in what it has let go:
/// a block is free again when all have agreed that none holds it. Pure data.
class ArenaBlocks {
 public:
  explicit ArenaBlocks(Index capacity) : capacity_(capacity) {}

  /// Takes the first gap that holds `bytes` and returns its begin; nothing when there is none.
  std::optional<Index> take(Index bytes);
  /// This rank no longer needs the block at `begin`.
  void let_go(Index begin);
  /// 1 for each block that this rank holds, 0 for each that it has let go, in order of place.
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
