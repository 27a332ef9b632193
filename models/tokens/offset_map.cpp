#include "models/tokens/offset_map.h"

#include <algorithm>
#include <iterator>

namespace shardline {

std::optional<std::size_t> OffsetMap::original(std::size_t after) const {
  const auto next = std::upper_bound(parts_.begin(), parts_.end(), after,
                                     [](std::size_t place, const Part& part) { return place < part.after.begin; });
  if (next == parts_.begin()) return after;
  const Part& part = *std::prev(next);
  if (after >= part.after.end) return part.before.end + (after - part.after.end);
  return after == part.after.begin ? std::optional(part.before.begin) : std::nullopt;
}

}  // namespace shardline
