#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline::collectives {

/// A part of an array: one range per dim.
using Box = std::vector<Range>;

/// Extents of a box.
Shape extents(const Box& box);
/// True if the elements of a box of an array of `shape` are contiguous in memory, or the box is empty.
bool contiguous(const Shape& shape, const Box& box);
/// The box of a whole array of `shape`.
Box whole(const Shape& shape);
/// The box of `shape` that cuts `dim` to `range` and keeps all other dims whole.
Box cut(const Shape& shape, int dim, Range range);
/// cut() for each range, in order.
std::vector<Box> cuts(const Shape& shape, int dim, const std::vector<Range>& ranges);

/// Walks two boxes of equal extents, each in its own array, over the strips of elements that are contiguous in
/// both. Offsets are in elements from the beginning of the arrays. Allocates nothing.
class BoxWalk {
 public:
  /// A dim of one of the arrays: its extent, and the begin of the box.
  struct Side {
    Index extent = 0;
    Index begin = 0;
  };
  /// Elements that are contiguous in both arrays.
  struct Strip {
    Index from = 0;
    Index to = 0;
    Index count = 0;
  };

  /// One element; add_outer() makes it a box.
  BoxWalk() = default;
  /// Throws Error if the extents differ.
  BoxWalk(const Shape& from, const Box& from_box, const Shape& to, const Box& to_box);
  /// Adds a dim outside the present ones. The walk visits `count` elements of it. Adjacent dims that are contiguous
  /// become one loop. Throws Error when more than kMaxLoops loops remain.
  void add_outer(Index count, Side from, Side to);

  bool done() const { return behind_ == size_; }
  /// Elements of each box.
  Index size() const { return size_; }
  /// The next strip, cut to `limit` elements (at least one). Do not call it after done().
  Strip next(Index limit);

  static constexpr std::size_t kMaxLoops = 7;

 private:
  /// A dim outside of the strips.
  struct Loop {
    Index count;
    Index at;
    Index from_stride;
    Index to_stride;
  };
  void to_next_strip();

  Index size_ = 1;
  Index behind_ = 0;  ///< elements that have been visited
  Index strip_ = 1;   ///< elements of a strip
  Index within_ = 0;  ///< elements of the current strip that have been visited
  Index from_ = 0;    ///< begin of the current strip
  Index to_ = 0;
  Index from_volume_ = 1;  ///< elements of all dims so far, in the whole array
  Index to_volume_ = 1;
  std::size_t loops_ = 0;
  std::array<Loop, kMaxLoops> loop_;  ///< innermost first; the first loops_ of them
};

/// A box of an array in memory, to copy from or to. Pointers may be null when the box is empty.
struct ConstBoxView {
  const std::byte* data = nullptr;
  Shape shape;
  Box box;
};
struct BoxView {
  std::byte* data = nullptr;
  Shape shape;
  Box box;
};

/// Copies `from` to `to` in one pass over memory. The boxes have equal extents, and the arrays do not overlap.
/// `element_size` in bytes.
void copy_box(const ConstBoxView& from, const BoxView& to, Index element_size);

/// The places in memory of the boxes that travel, one box for each position.
struct Chunks {
  bool packed = false;        ///< false: in the array itself; true: in a buffer, one after the other
  std::vector<Range> ranges;  ///< by position, in elements of the array or of the packed buffer
  Index size() const;         ///< elements of all boxes together
};

/// If each box is contiguous in the array (a cut of the first dim whose extent is not 1), the boxes stay in
/// place without a copy. Otherwise packed_chunks().
Chunks chunks_of(const Shape& shape, const std::vector<Box>& boxes);

/// The boxes one after the other, each row-major.
Chunks packed_chunks(const std::vector<Box>& boxes);

}  // namespace shardline::collectives
