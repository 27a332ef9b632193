#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// One loop over an index shared by up to four arrays: the result (0) and three operands (1 to 3).
struct Loop {
  Index extent = 0;
  std::array<Index, 4> strides{};  ///< elements that each array advances per iteration; 0 if it lacks the index
};

using Offsets = std::array<Index, 4>;

/// Calls body(offsets) for every position of the nest, outermost loop first.
template <class Body>
void for_each_position(std::span<const Loop> loops, Offsets offsets, Body&& body) {
  if (loops.empty()) return body(offsets);
  for (Index i = 0; i < loops.front().extent; ++i) {
    for_each_position(loops.subspan(1), offsets, body);
    for (std::size_t array = 0; array < offsets.size(); ++array) offsets[array] += loops.front().strides[array];
  }
}

/// out = the sum of operands[0] * ... * operands[n - 1] over the loops in which the result has
/// stride 0, for 1 to 3 operands (one operand: a permuting copy or a plain sum). Overwrites the
/// positions of `out` that the loops reach; `accumulate` adds to them. All extents must be
/// positive. Best if one array has all loops: it is walked in memory order. Computed in SumOf<S>. Throws
/// Error for a sum, or an addition, in a result of bf16: it would be rounded at every term.
template <class S, class R>
void sum_of_products(std::vector<Loop> loops, std::span<const S* const> operands, R* out, bool accumulate = false);

/// Sets the positions of the result that the loops reach to 0. Extents may be zero.
template <class R>
void clear_result(const std::vector<Loop>& loops, R* out);

}  // namespace shardline::kernels
