#pragma once

#include "kernels/gemm/gemm.h"

namespace shardline::kernels {

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`, by the library for f32. Operands in bf16 are widened block by
/// block; a C in bf16 is rounded once, from the whole sum. All extents are positive. The blocks take 8 MiB at most; the
/// process keeps them for its next product. T is float or BFloat16.
template <class T>
void multiply_widened(const GemmShape& shape, const BFloat16* a, const BFloat16* b, bool accumulate, T* c);

}  // namespace shardline::kernels
