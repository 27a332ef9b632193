#pragma once

#include <cstddef>
#include <vector>

#include "collectives/packing.h"
#include "kernels/reduce.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"

namespace shardline::collectives::direct {

/// One pass over a box of another rank's array that can be taken a piece at a time, so that other operations move on
/// between the pieces.
class CopyPass {
 public:
  CopyPass(const std::byte* from, std::byte* to, BoxWalk walk, Index element_size)
      : from_(from), to_(to), walk_(std::move(walk)), element_size_(element_size) {}

  bool done() const { return walk_.done(); }
  /// Bytes of the whole box.
  Index bytes() const { return walk_.size() * element_size_; }
  /// Copies at most `bytes` (at least an element); returns how many.
  Index advance(Index bytes);

 private:
  const std::byte* from_;
  std::byte* to_;
  BoxWalk walk_;
  Index element_size_;
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
  CombinePass(Combination how, std::vector<const std::byte*> from, std::byte* to, BoxWalk walk);

  bool done() const { return walk_.done(); }
  /// Bytes that are read from each array.
  Index bytes() const { return walk_.size() * size_of(how_.dtype); }
  /// Makes at most `bytes` of the result (at least an element); returns how many.
  Index advance(Index bytes);

 private:
  Combination how_;
  std::vector<const std::byte*> from_;
  std::byte* to_;
  BoxWalk walk_;
  std::vector<kernels::Operand> operands_;
};

}  // namespace shardline::collectives::direct
