#include "collectives/shared/direct_passes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/support/stream.h"

namespace shardline::collectives::direct {
namespace {

/// Shorter runs use a normal copy. Each begins and ends within a cache line, and streaming would write these
/// lines in parts.
constexpr Index kStreamRun = 4096;

}  // namespace

Index CopyPass::advance(Index bytes) {
  const Index item = ends_.element_size;
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Run run = walk_.next(left);
    const Index run_bytes = run.count * item;
    if (ends_.stream && run_bytes >= kStreamRun) {
      kernels::stream_copy(ends_.from + run.from * item, ends_.to + run.to * item, run_bytes);
    } else {
      std::memcpy(ends_.to + run.to * item, ends_.from + run.from * item, static_cast<std::size_t>(run_bytes));
    }
    left -= run.count;
  }
  if (ends_.stream) kernels::stream_fence();
  return (before - left) * item;
}

CombinePass::CombinePass(Combination how, std::vector<kernels::Operand> from, std::byte* to, const BoxWalk& walk)
    : how_(how), from_(std::move(from)), to_(to), walk_(walk) {}

Index CombinePass::advance(Index bytes) {
  const Index item = size_of(how_.dtype);
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Run run = walk_.next(left);
    for (kernels::Operand& operand : from_) {
      operand.data = static_cast<const std::byte*>(operand.data) + (run.from - at_) * item;
    }
    at_ = run.from;
    kernels::combine(how_.op, from_, {how_.dtype, to_ + run.to * item}, run.count, how_.divisor);
    left -= run.count;
  }
  return (before - left) * item;
}

}  // namespace shardline::collectives::direct
