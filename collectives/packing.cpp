#include "collectives/packing.h"

#include <cstring>

#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

/// Element offset of a box's first element; `shape` row-major.
Index first_element(const Shape& shape, const Box& box) {
  Index offset = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + box[d].begin;
  return offset;
}

bool contiguous(const Shape& shape, const Box& box) {
  bool cut_seen = false;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (cut_seen && box[d].size() != 1) return false;
    cut_seen = cut_seen || box[d].size() != shape[d];
  }
  return true;
}

std::vector<Index> strides(const Shape& shape) {
  std::vector<Index> result(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) result[d - 1] = result[d] * shape[d];
  return result;
}

/// Walks the outermost `dims` dims of a box, keeping both offsets as it goes.
class Odometer {
 public:
  Odometer(Shape extents, const Shape& from, const Shape& to, std::size_t dims)
      : extents_(std::move(extents)), at_(dims, 0), from_strides_(strides(from)), to_strides_(strides(to)) {}

  Index from() const { return from_; }
  Index to() const { return to_; }

  /// False once every position has been visited.
  bool next() {
    for (std::size_t d = at_.size(); d-- > 0;) {
      from_ += from_strides_[d];
      to_ += to_strides_[d];
      if (++at_[d] < extents_[d]) return true;
      from_ -= from_strides_[d] * extents_[d];
      to_ -= to_strides_[d] * extents_[d];
      at_[d] = 0;
    }
    return false;
  }

 private:
  Shape extents_;
  std::vector<Index> at_;
  std::vector<Index> from_strides_;
  std::vector<Index> to_strides_;
  Index from_ = 0;
  Index to_ = 0;
};

}  // namespace

Shape extents(const Box& box) {
  Shape shape;
  for (const Range& range : box) shape.push_back(range.size());
  return shape;
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

void copy_box(const ConstRegion& from, const Region& to, Index element_size) {
  const Shape shape = extents(from.box);
  SHARDLINE_CHECK(shape == extents(to.box), "a box of {} copied to one of {}", to_string(shape),
                  to_string(extents(to.box)));
  if (element_count(shape) == 0) return;

  // The longest run that is contiguous on both sides: trailing dims that are whole, and the first that is cut.
  std::size_t outer = shape.size();
  Index run = 1;
  bool is_whole = true;
  while (outer > 0 && is_whole) {
    --outer;
    run *= shape[outer];
    is_whole = shape[outer] == from.shape[outer] && shape[outer] == to.shape[outer];
  }
  const auto run_bytes = static_cast<std::size_t>(run * element_size);
  const std::byte* source = from.data + first_element(from.shape, from.box) * element_size;
  std::byte* target = to.data + first_element(to.shape, to.box) * element_size;
  Odometer odometer(shape, from.shape, to.shape, outer);
  do {
    std::memcpy(target + odometer.to() * element_size, source + odometer.from() * element_size, run_bytes);
  } while (odometer.next());
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
    if (count > 0 && !contiguous(shape, box)) return packed_chunks(boxes);
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
