#pragma once

#include "kernels/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// into[i] = into[i] (+ or max) from[i] for `count` elements of `dtype`. bf16 is computed in f32 and rounded once; a
/// NaN on either side is kept by max. The buffers must not overlap; they may be null when `count` is 0.
void accumulate(ReduceOp op, DType dtype, void* into, const void* from, Index count);

/// One operation per element; reads both buffers, writes one. `element_size` in bytes.
Cost accumulate_cost(Index count, Index element_size);

}  // namespace shardline::kernels
