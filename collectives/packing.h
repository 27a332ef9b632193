#pragma once

#include <cstddef>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// A part of an array: one range per dim.
using Box = std::vector<Range>;

/// Extents of a box.
Shape extents(const Box& box);
/// The box that is a whole array of `shape`.
Box whole(const Shape& shape);
/// The box of `shape` that keeps every dim whole but `dim`, which it cuts to `range`.
Box cut(const Shape& shape, int dim, Range range);
/// cut() for each range, in order.
std::vector<Box> cuts(const Shape& shape, int dim, const std::vector<Range>& ranges);

/// A box of an array in memory, to copy from or to. Pointers may be null when the box is empty.
struct ConstRegion {
  const std::byte* data = nullptr;
  Shape shape;
  Box box;
};
struct Region {
  std::byte* data = nullptr;
  Shape shape;
  Box box;
};

/// Copies `from` to `to`, boxes of equal extents in arrays that do not overlap, in one pass over memory.
/// `element_size` in bytes.
void copy_box(const ConstRegion& from, const Region& to, Index element_size);

/// Where the boxes of an array, one per position, lie in memory for the wire.
struct Chunks {
  bool packed = false;        ///< false: in the array itself; true: one after the other in a buffer of their own
  std::vector<Range> ranges;  ///< by position, in elements of the array or of the packed buffer
  Index size() const;         ///< elements of all boxes together
};

/// Leaves the boxes in the array when each of them is contiguous there (cuts of the first dim whose extent is not 1),
/// so that no packing copy is made; otherwise packed_chunks().
Chunks chunks_of(const Shape& shape, const std::vector<Box>& boxes);

/// The boxes one after the other, each row-major.
Chunks packed_chunks(const std::vector<Box>& boxes);

}  // namespace shardline::collectives
