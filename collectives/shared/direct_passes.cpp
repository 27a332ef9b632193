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

void copy_strip(const std::byte* from, std::byte* to, Index bytes, bool stream) {
  if (stream && bytes >= kStreamStrip) {
    kernels::stream_copy(from, to, bytes);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Index CopyPass::advance(Index bytes) {
  const Index item = ends_.element_size;
  Index left = std::max<Index>(1, bytes / item);
  const Index before = left;
  while (!walk_.done() && left > 0) {
    const BoxWalk::Strip strip = walk_.next(left);
    copy_strip(ends_.from + strip.from * item, ends_.to + strip.to * item, strip.count * item, ends_.stream);
    left -= strip.count;
  }
  if (ends_.stream) kernels::stream_fence();
  return (before - left) * item;
}

RowsPass::RowsPass(const Source& from, std::byte* to, const Cells& cells, const CellBox& box, bool stream)
    : from_(from),
      to_(to),
      cells_(cells),
      box_(box),
      stream_(stream),
      done_(box.outer.size() == 0 || box.inner.size() == 0),
      i_(box.outer.begin),
      j_(box.inner.begin) {
  to_used_cell();
}

Index RowsPass::advance(Index bytes) {
  Index left = std::max<Index>(1, bytes);
  const Index before = left;
  while (!done_ && left > 0) {
    const Index part = std::min(left, cells_.used(i_, j_) - within_);
    copy_strip(source(), to_ + cells_.begin(i_, j_) + within_, part, stream_);
    left -= part;
    within_ += part;
    to_used_cell();
  }
  if (stream_) kernels::stream_fence();
  return before - left;
}

/// Where the rest of the present cell lies.
const std::byte* RowsPass::source() const {
  Cells there = cells_;
  there.columns = from_.columns;
  return from_.array + within_ + there.begin(i_ - box_.outer.begin + from_.outer, j_ - box_.inner.begin + from_.inner);
}

/// Leaves cells of which nothing is left to copy.
void RowsPass::to_used_cell() {
  while (!done_ && within_ == cells_.used(i_, j_)) {
    within_ = 0;
    if (++j_ < box_.inner.end) continue;
    j_ = box_.inner.begin;
    done_ = ++i_ == box_.outer.end;
  }
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
