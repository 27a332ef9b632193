#pragma once

#include <string>

#include "kernels/support/cost.h"
#include "runtime/base/shape.h"

namespace shardline::kernels {

/// Whether a matrix of a product is stored as it is used or transposed.
enum class Transpose : bool { no, yes };

/// A product C[m, n] = op(A)[m, k] op(B)[k, n] of row-major matrices. `lda`, `ldb` and `ldc` are the distances in
/// elements between the rows *as stored*: A is stored [m, k], or [k, m] when transposed; B [k, n] or [n, k].
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

/// C = alpha op(A) op(B) + beta C, T float or double, by the BLAS. With beta 0 the old C is not read. Any extent may be
/// zero (k = 0 leaves beta C); pointers to empty matrices may be null. Throws Error when an extent or a leading
/// dimension is negative, too small or too large for the integers of the BLAS.
template <class T>
void gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c);

/// 2 m n k operations; A, B and C once each.
Cost gemm_cost(const GemmShape& shape, Index element_size);

/// Threads the BLAS may use in this process, at least 1; one until this is set, whatever OPENBLAS_NUM_THREADS says.
/// Throws Error where the limits of the process do not allow the threads or their memory.
void set_blas_threads(int threads);
int blas_threads();

/// Name, version, build options and the processor core it chose, as they belong into a record of a run. Starts no
/// threads. Throws Error that says why where the BLAS cannot be loaded.
std::string blas_description();

}  // namespace shardline::kernels
