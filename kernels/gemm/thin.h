#pragma once

#include "kernels/gemm/gemm.h"

namespace shardline::kernels {

/// True for products of so few rows that reading B takes most of their time, and B is read best where it lies.
bool is_thin(const GemmShape& shape);

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`, for few rows. All extents are positive. B is read once, in the
/// order in which it lies. bf16 is widened in registers. Row i of C depends on row i of A only, bit for bit: it is the
/// same in products of more or fewer rows, as long as they are thin. Sums are f32, and a C in bf16 is rounded once,
/// from the whole sum. S float or BFloat16; T is S or float.
template <class S, class T>
void multiply_thin(const GemmShape& shape, const S* a, const S* b, bool accumulate, T* c);

}  // namespace shardline::kernels
