#pragma once

#include <string>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// Whether a matrix is stored as it is used, or transposed.
enum class Transpose : bool { no, yes };

/// A product C[m, n] = op(A)[m, k] op(B)[k, n] of row-major matrices. `lda`, `ldb` and `ldc` are
/// the distances in elements between rows as stored. A is stored [m, k], or [k, m] if transposed; B
/// [k, n] or [n, k].
struct GemmShape {
  Transpose a = Transpose::no;
  Transpose b = Transpose::no;
  Index m = 0;
  Index n = 0;
  Index k = 0;
  Index lda = 0;
  Index ldb = 0;
  Index ldc = 0;
};

/// C = alpha op(A) op(B) + beta C by the BLAS, T float or double. With beta 0 the old C is not
/// read. Any extent may be zero; k = 0 leaves beta C. Pointers to empty matrices may be null.
/// Throws Error if an extent or a leading dimension is negative, too small, or too large for the
/// BLAS integers.
template <class T>
void gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c);

/// C = op(A) op(B), or C += op(A) op(B) if `accumulate`, of operands in bf16. Sums are in f32, and a result in bf16 is
/// rounded once from its f32 sum (an accumulated one from the f32 sum of the old C and the product). `T` is float or
/// BFloat16. Throws Error as gemm() does.
template <class T>
void gemm_bf16(const GemmShape& shape, const BFloat16* a, const BFloat16* b, bool accumulate, T* c);

/// 2 m n k operations; A, B and C once each.
Cost gemm_cost(const GemmShape& shape, Index element_size);

/// Threads the BLAS may use in this process, at least 1. It is one until this is set, whatever
/// OPENBLAS_NUM_THREADS says. Throws Error if the limits of the process forbid the threads or their
/// memory.
void set_blas_threads(int threads);
int blas_threads();

/// Name, version, build options and core type of the BLAS, for the record of a run. Starts no
/// threads. Throws Error with the reason if the BLAS cannot be loaded.
std::string blas_description();

}  // namespace shardline::kernels
