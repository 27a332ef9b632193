#include "collectives/shared/direct_passes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/support/stream.h"

namespace shardline::collectives::direct {
namespace {

/// Shorter strips use a normal copy. Each begins and ends within a cache line, and streaming would write these
/// lines in parts.
constexpr Index kStreamStrip = 4096;

}  // namespace

Index CopyPass::advance(Index bytes) {
  const Index item = ends_.element_size;
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Strip strip = walk_.next(left);
    const Index strip_bytes = strip.count * item;
    if (ends_.stream && strip_bytes >= kStreamStrip) {
      kernels::stream_copy(ends_.from + strip.from * item, ends_.to + strip.to * item, strip_bytes);
    } else {
      std::memcpy(ends_.to + strip.to * item, ends_.from + strip.from * item, static_cast<std::size_t>(strip_bytes));
    }
    left -= strip.count;
  }
  if (ends_.stream) kernels::stream_fence();
  return (before - left) * item;
}

CombinePass::CombinePass(Combination how, std::vector<kernels::Source> from, std::byte* to, const BoxWalk& walk)
    : how_(how), from_(std::move(from)), to_(to), walk_(walk) {}

Index CombinePass::advance(Index bytes) {
  const Index item = size_of(how_.dtype);
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Strip strip = walk_.next(left);
    for (kernels::Source& source : from_) {
      source.data = static_cast<const std::byte*>(source.data) + (strip.from - at_) * item;
    }
    at_ = strip.from;
    kernels::combine(how_.op, from_, {how_.dtype, to_ + strip.to * item}, strip.count, how_.divisor);
    left -= strip.count;
  }
  return (before - left) * item;
}

}  // namespace shardline::collectives::direct
