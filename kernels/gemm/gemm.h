#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/gemm/kept_operands.h"
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

/// Who multiplies matrices.
enum class GemmLibrary : std::uint8_t { openblas, onednn };

/// "openblas", "onednn"
std::string_view name_of(GemmLibrary library);

/// The library of f32 or bf16 products that suits this processor: oneDNN for f32 with AVX-512 and for bf16 with
/// AVX512_BF16 or AMX, OpenBLAS for all else. Nothing is measured. For bf16, OpenBLAS
/// stands for products in f32, by the library of f32, of blocks that are widened one after the other (8 MiB at most).
GemmLibrary suitable_library(DType dtype);

/// The library that multiplies operands of this type in this process: the suitable one, until it is set. f64 is
/// OpenBLAS's alone. Products of few rows may need no library (see gemm()). Throws Error if oneDNN is set for f64, or
/// for bf16 where it is not suitable.
GemmLibrary gemm_library(DType dtype);
void set_gemm_library(DType dtype, GemmLibrary library);

/// What a product may use beside its matrices.
struct GemmOptions {
  bool accumulate = false;  ///< C += op(A) op(B) instead of C =
  bool shares_a = false;    ///< products of the same A with other B follow
  /// If products of the same B with other A follow: what they share. Only oneDNN keeps something.
  KeptOperands* kept = nullptr;
};

/// C = op(A) op(B), by the library for the type S of the operands: float, double, or BFloat16. C has the type of the
/// operands, or is float beside operands in BFloat16. Sums of bf16 are in f32, and a C in bf16 is rounded once, from
/// the whole sum. Without `accumulate` the old C is not read. Any extent may be zero; k = 0 gives zeros. Pointers to
/// empty matrices may be null. oneDNN leaves small products to OpenBLAS, which starts them faster. With one thread,
/// products of at most 16 rows in f32 and bf16 are made by no library: they take as long as reading B, and row i has
/// the same bits in all of them (multiply_thin()). `options` but for `accumulate` then mean nothing. Throws Error if an
/// extent or a leading dimension is negative, too small, or too large for the integers of a BLAS. Only one thread of a
/// process may call it: the libraries share what they keep from one product to the next without a lock.
template <class S, class T>
void gemm(const GemmShape& shape, const S* a, const S* b, T* c, const GemmOptions& options = {});

/// 2 m n k operations; A, B and C once each.
Cost gemm_cost(const GemmShape& shape, Index element_size);

/// Threads that the libraries may use in this process, at least 1. It is one until this is set, whatever
/// OPENBLAS_NUM_THREADS and OMP_NUM_THREADS say. Throws Error if the limits of the process forbid the threads or their
/// memory.
void set_blas_threads(int threads);
int blas_threads();

/// Name, version, build options and core type of the BLAS, and the same of oneDNN, for the record of a run. Starts no
/// threads. Throws Error with the reason if the BLAS cannot be loaded.
std::string blas_description();

}  // namespace shardline::kernels
