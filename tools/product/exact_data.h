#pragma once

#include <cstdint>

#include "runtime/base/counter_rng.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"

namespace shardline::tools {

/// What the data of a group of ranks depends on.
struct ExactDataSpec {
  std::uint64_t seed = 0;
  Index group = 0;  ///< a number of the group's own, so that what crosses over from another group shows
  Index positions = 1;
  DType dtype = DType::f32;
};

/// Operands of collectives whose results are known exactly, on every position of a group: whole numbers that the
/// element type holds, so small that sums of any positions in any order are exact too (bf16: up to 256).
class ExactData {
 public:
  explicit ExactData(const ExactDataSpec& spec);

  /// Element `i` at `position` where elements are only moved, or combined by a maximum.
  double moved(Index position, Index i) const;
  /// Element `i` at `position` where elements are added up or averaged: a number of the element's own, one more on one
  /// position and one less on the next, which differ from element to element, so that a position counted twice in the
  /// place of another shows.
  double summand(Index position, Index i) const;

  /// Element `i` of the operands of all positions combined: of moved() for a maximum, of summand() for the others.
  double combined(ReduceOp op, Index i) const;
  /// Element `i` at `position` of the operand of a reduction.
  double operand(ReduceOp op, Index position, Index i) const;

 private:
  double base(Index i) const;

  CounterRng values_;
  CounterRng bases_;
  Index positions_;
  Index largest_;       ///< magnitude of moved()
  Index largest_base_;  ///< 0 when there are too many positions for more
};

}  // namespace shardline::tools
