#include "collectives/schedule/packing.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

/// Offset in elements of a box's first element; `shape` is row-major.
Index first_element(const Shape& shape, const Box& box) {
  Index offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + box[d].begin;
  return offset;
}

}  // namespace

Shape extents(const Box& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size());
  return shape;
}

bool contiguous(const Shape& shape, const Box& box) {
  if (std::any_of(box.begin(), box.end(), [](Range range) { return range.size() == 0; })) return true;
  bool cut_seen = false;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (cut_seen && box[d].size() != 1) return false;
    cut_seen = cut_seen || box[d].size() != shape[d];
  }
  return true;
}

Box whole(const Shape& shape) {
  Box box;
  for (const Index extent : shape) box.push_back({0, extent});
  return box;
}

Box cut(const Shape& shape, int dim, Range range) {
  Box box = whole(shape);
  box[static_cast<std::size_t>(dim)] = range;
  return box;
}

std::vector<Box> cuts(const Shape& shape, int dim, const std::vector<Range>& ranges) {
  std::vector<Box> boxes;
  for (const Range& range : ranges) boxes.push_back(cut(shape, dim, range));
  return boxes;
}

BoxWalk::BoxWalk(const Shape& from, const Box& from_box, const Shape& to, const Box& to_box) {
  SHARDLINE_CHECK(from_box.size() == to_box.size(), "a box of {} dims beside one of {}", from_box.size(),
                  to_box.size());
  for (std::size_t d = from_box.size(); d-- > 0;) {
    SHARDLINE_CHECK(from_box[d].size() == to_box[d].size(), "a box of {} beside one of {}",
                    to_string(extents(from_box)), to_string(extents(to_box)));
    add_outer(from_box[d].size(), {from[d], from_box[d].begin}, {to[d], to_box[d].begin});
  }
}

void BoxWalk::add_outer(Index count, Side from, Side to) {
  from_ += from.begin * from_volume_;
  to_ += to.begin * to_volume_;
  if (loops_ == 0 && strip_ == from_volume_ && strip_ == to_volume_) {
    strip_ *= count;
  } else if (loops_ > 0 && loop_[loops_ - 1].count * loop_[loops_ - 1].from_stride == from_volume_ &&
             loop_[loops_ - 1].count * loop_[loops_ - 1].to_stride == to_volume_) {
    loop_[loops_ - 1].count *= count;
  } else if (count != 1) {
    SHARDLINE_CHECK(loops_ < kMaxLoops, "a box that is cut in more than {} dims", kMaxLoops);
    loop_[loops_++] = {count, 0, from_volume_, to_volume_};
  }
  size_ *= count;
  from_volume_ *= from.extent;
  to_volume_ *= to.extent;
}

BoxWalk::Strip BoxWalk::next(Index limit) {
  const Index count = std::min(strip_ - within_, limit);
  const Strip strip{from_ + within_, to_ + within_, count};
  within_ += count;
  behind_ += count;
  if (within_ == strip_) to_next_strip();
  return strip;
}

void BoxWalk::to_next_strip() {
  within_ = 0;
  for (std::size_t l = 0; l < loops_; ++l) {
    Loop& loop = loop_[l];
    from_ += loop.from_stride;
    to_ += loop.to_stride;
    if (++loop.at < loop.count) return;
    from_ -= loop.from_stride * loop.count;
    to_ -= loop.to_stride * loop.count;
    loop.at = 0;
  }
}

void copy_box(const ConstBoxView& from, const BoxView& to, Index element_size) {
  BoxWalk walk(from.shape, from.box, to.shape, to.box);
  while (!walk.done()) {
    const BoxWalk::Strip strip = walk.next(std::numeric_limits<Index>::max());
    std::memcpy(to.data + strip.to * element_size, from.data + strip.from * element_size,
                static_cast<std::size_t>(strip.count * element_size));
  }
}

Index Chunks::size() const {
  Index sum = 0;
  for (const Range& range : ranges) sum += range.size();
  return sum;
}

Chunks chunks_of(const Shape& shape, const std::vector<Box>& boxes) {
  Chunks chunks;
  for (const Box& box : boxes) {
    const Index count = element_count(extents(box));
    if (!contiguous(shape, box)) return packed_chunks(boxes);
    const Index begin = count > 0 ? first_element(shape, box) : 0;
    chunks.ranges.push_back({begin, begin + count});
  }
  return chunks;
}

Chunks packed_chunks(const std::vector<Box>& boxes) {
  Chunks chunks{true, {}};
  Index begin = 0;
  for (const Box& box : boxes) {
    const Index count = element_count(extents(box));
    chunks.ranges.push_back({begin, begin + count});
    begin += count;
  }
  return chunks;
}

}  // namespace shardline::collectives
