#pragma once

#include <span>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// An array to combine, and its element type.
struct Operand {
  DType dtype = DType::f32;
  const void* data = nullptr;
};

/// Where the combination goes.
struct Target {
  DType dtype = DType::f32;
  void* data = nullptr;
};

/// into[i] = ((from[0][i] op from[1][i]) op from[2][i]) ..., for `count` elements, in that order. All arrays are of one
/// element type, or of bf16 and f32 mixed; what touches bf16 is computed in f32 and rounded once, at the end. The
/// result is divided by `divisor` where that is not 1 (floats only). max keeps a NaN of any operand. `into` may be one
/// of the operands of its own element type; other overlap is not allowed. Pointers may be null when `count` is 0.
/// Throws Error on other mixtures of types and on integers that are to be averaged. One operand is a conversion.
void combine(ReduceOp op, std::span<const Operand> from, const Target& into, Index count, Index divisor = 1);

/// One operation per element and operand beyond the first; reads every operand, writes one array. `element_size` in
/// bytes.
Cost combine_cost(Index operands, Index count, Index element_size);

}  // namespace shardline::kernels
