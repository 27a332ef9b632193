#pragma once

#include <cstddef>
#include <vector>

#include "collectives/schedule/cells.h"
#include "collectives/schedule/packing.h"
#include "kernels/reduce.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"

namespace shardline::collectives::direct {

/// Copies that fill an array of at least this size write past the caches, because no cache will keep it.
/// Additions do not: they read more than they write and gain nothing.
inline constexpr Index kStreamBytes = Index{16} << 20;

/// One pass over a box of another rank's array. It goes piece by piece, so that other runs advance between the pieces.
class CopyPass {
 public:
  struct Ends {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    Index element_size = 1;
    bool stream = false;  ///< write past the caches
  };
  CopyPass(const Ends& ends, const BoxWalk& walk) : ends_(ends), walk_(walk) {}

  bool done() const { return walk_.done(); }
  /// Bytes of the whole box.
  Index bytes() const { return walk_.size() * ends_.element_size; }
  /// Copies at most `bytes` (at least one element) and returns how many.
  Index advance(Index bytes);

 private:
  Ends ends_;
  BoxWalk walk_;
};

/// The same for the rows in use of a box of cells.
class RowsPass {
 public:
  /// A box begins at these cells of another rank's array, which has so many columns.
  struct Source {
    const std::byte* array = nullptr;
    Index outer = 0;
    Index inner = 0;
    Index columns = 0;
  };
  /// `box` of the own array `to`, whose cells are `cells`. `stream`: as in CopyPass::Ends.
  RowsPass(const Source& from, std::byte* to, const Cells& cells, const CellBox& box, bool stream);

  bool done() const { return done_; }
  /// Bytes in use in the whole box.
  Index bytes() const { return bytes_in_use(cells_, box_); }
  /// Copies at most `bytes` (at least one) and returns how many.
  Index advance(Index bytes);

 private:
  const std::byte* source() const;
  void to_used_cell();

  Source from_;
  std::byte* to_;
  Cells cells_;
  CellBox box_;
  bool stream_;
  bool done_;
  Index i_;  ///< the present cell, within the own array
  Index j_;
  Index within_ = 0;  ///< bytes of it that have been copied
};

/// How the operands of a CombinePass are combined.
struct Combination {
  ReduceOp op = ReduceOp::sum;
  DType dtype = DType::f32;
  Index divisor = 1;
};

/// The same for boxes of several arrays of one shape, which are combined in the order given.
class CombinePass {
 public:
  CombinePass(Combination how, std::vector<kernels::Source> from, std::byte* to, const BoxWalk& walk);

  bool done() const { return walk_.done(); }
  /// Bytes that are read from each array.
  Index bytes() const { return walk_.size() * size_of(how_.dtype); }
  /// Makes at most `bytes` of the result (at least one element) and returns how many.
  Index advance(Index bytes);

 private:
  Combination how_;
  std::vector<kernels::Source> from_;  ///< at element at_
  Index at_ = 0;
  std::byte* to_;
  BoxWalk walk_;
};

}  // namespace shardline::collectives::direct
