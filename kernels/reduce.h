#pragma once

#include <span>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// An array to combine, and its element type.
struct Source {
  DType dtype = DType::f32;
  const void* data = nullptr;
};

/// The array that gets the result.
struct Target {
  DType dtype = DType::f32;
  void* data = nullptr;
};

/// into[i] = ((from[0][i] op from[1][i]) op from[2][i]) ..., for `count` elements, in this order.
/// All arrays have one element type, or mix bf16 and f32. With bf16 the computation is in f32, and
/// the end rounds once. The result is divided by `divisor` if that is not 1 (floats only). max
/// keeps a NaN of any source. `into` may be a source of its own element type; no other overlap
/// is allowed. Pointers may be null if `count` is 0. Throws Error for other type mixtures and for
/// an average of integers. One source: a conversion.
void combine(ReduceOp op, std::span<const Source> from, const Target& into, Index count, Index divisor = 1);

/// One operation per element for each source after the first. Reads every source, writes one
/// array. `element_size` in bytes.
Cost combine_cost(Index sources, Index count, Index element_size);

}  // namespace shardline::kernels
