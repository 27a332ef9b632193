#include "collectives/shared/arena_blocks.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::collectives {

std::optional<Index> ArenaBlocks::take(Index bytes) {
  Index begin = 0;
  auto next = blocks_.begin();
  while (next != blocks_.end() && next->place.begin - begin < bytes) begin = next++->place.end;
  if (next == blocks_.end() && capacity_ - begin < bytes) return std::nullopt;
  blocks_.insert(next, {{begin, begin + bytes}, true});
  return begin;
}

void ArenaBlocks::let_go(Index begin) {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& block) { return block.place.begin == begin; });
  SHARDLINE_CHECK(found != blocks_.end() && found->held, "no block of the arena that is held begins at {}", begin);
  found->held = false;
}

std::vector<Index> ArenaBlocks::held() const {
  std::vector<Index> result;
  for (const Block& block : blocks_) result.push_back(block.held ? 1 : 0);
  return result;
}

void ArenaBlocks::keep(const std::vector<Index>& held_somewhere) {
  SHARDLINE_CHECK(held_somewhere.size() == blocks_.size(), "an agreement on {} blocks of an arena that has {}",
                  held_somewhere.size(), blocks_.size());
  std::vector<Block> kept;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (held_somewhere[i] != 0) kept.push_back(blocks_[i]);
  }
  blocks_ = std::move(kept);
}

Index ArenaBlocks::taken() const {
  Index sum = 0;
  for (const Block& block : blocks_) sum += block.place.size();
  return sum;
}

Index ArenaBlocks::largest_gap() const {
  Index largest = 0;
  Index begin = 0;
  for (const Block& block : blocks_) {
    largest = std::max(largest, block.place.begin - begin);
    begin = block.place.end;
  }
  return std::max(largest, capacity_ - begin);
}

}  // namespace shardline::collectives
