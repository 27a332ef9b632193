#pragma once

#include <cstdint>

#include "runtime/base/counter_rng.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"

namespace shardline::tools {

/// The parameters of the data of a group of ranks.
struct ExactDataSpec {
  std::uint64_t seed = 0;
  Index group = 0;  ///< a different number per group, so data from another group is detected
  Index positions = 1;
  DType dtype = DType::f32;
};

/// Operands of collectives with exactly known results, on every position of a group. They are whole
/// numbers that the element type can hold. They are so small that sums over any positions in any
/// order are exact too (bf16: up to 256).
class ExactData {
 public:
  explicit ExactData(const ExactDataSpec& spec);

  /// Element `i` at `position`, for collectives that move elements or take a maximum.
  double moved(Index position, Index i) const;
  /// Element `i` at `position`, for sums and averages. It is a number per element, plus one on one
  /// position and minus one on the next. These two positions differ from element to element, so the
  /// sum shows if a position counts twice in place of another.
  double summand(Index position, Index i) const;

  /// Element `i` of all positions combined: of moved() for a maximum, else of summand().
  double combined(ReduceOp op, Index i) const;
  /// Element `i` at `position` of an operand of a reduction.
  double operand(ReduceOp op, Index position, Index i) const;

 private:
  double base(Index i) const;

  CounterRng values_;
  CounterRng bases_;
  Index positions_;
  Index largest_;       ///< largest magnitude of moved()
  Index largest_base_;  ///< 0 if there are too many positions
};

}  // namespace shardline::tools
