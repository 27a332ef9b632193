#include "collectives/direct_passes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace shardline::collectives::direct {

Index CopyPass::advance(Index bytes) {
  Index left = std::max<Index>(1, bytes / element_size_);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Run run = walk_.next(left);
    std::memcpy(to_ + run.to * element_size_, from_ + run.from * element_size_,
                static_cast<std::size_t>(run.count * element_size_));
    left -= run.count;
  }
  return (before - left) * element_size_;
}

CombinePass::CombinePass(Combination how, std::vector<const std::byte*> from, std::byte* to, BoxWalk walk)
    : how_(how), from_(std::move(from)), to_(to), walk_(std::move(walk)), operands_(from_.size()) {}

Index CombinePass::advance(Index bytes) {
  const Index item = size_of(how_.dtype);
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Run run = walk_.next(left);
    for (std::size_t k = 0; k < from_.size(); ++k) operands_[k] = {how_.dtype, from_[k] + run.from * item};
    kernels::combine(how_.op, operands_, {how_.dtype, to_ + run.to * item}, run.count, how_.divisor);
    left -= run.count;
  }
  return (before - left) * item;
}

}  // namespace shardline::collectives::direct
