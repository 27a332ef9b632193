#include "program/ops/derivative.h"

namespace shardline {

std::vector<ArrayId> Gradients::contributions(const std::vector<ArrayId>& arrays) {
  std::vector<ArrayId> made;
  for (const ArrayId array : arrays) made.push_back(contribution(array));
  return made;
}

void Gradients::give_all(const std::vector<ArrayId>& arrays, const std::vector<ArrayId>& made) {
  for (std::size_t k = arrays.size(); k-- > 0;) give(arrays[k], made[k]);
}

}  // namespace shardline
