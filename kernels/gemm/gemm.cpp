#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/gemm/onednn.h"
#include "kernels/gemm/openblas.h"
#include "kernels/gemm/thin.h"
#include "kernels/gemm/widened.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

blasint to_blas_int(const char* name, Index value) {
  constexpr Index kLargest = std::numeric_limits<blasint>::max();
  SHARDLINE_CHECK(value >= 0 && value <= kLargest, "gemm: {} is {}; the BLAS takes 0 to {}", name, value, kLargest);
  return static_cast<blasint>(value);
}

void check_leading(const char* name, Index value, Index row) {
  static_cast<void>(to_blas_int(name, value));
  SHARDLINE_CHECK(value >= row, "gemm: {} is {}, less than the {} elements of a row", name, value, row);
}

/// The elements of a row as stored.
Index row_of_a(const GemmShape& shape) { return shape.a == Transpose::yes ? shape.m : shape.k; }
Index row_of_b(const GemmShape& shape) { return shape.b == Transpose::yes ? shape.k : shape.n; }

CBLAS_TRANSPOSE to_cblas(Transpose transpose) { return transpose == Transpose::yes ? CblasTrans : CblasNoTrans; }

template <class T>
void multiply_by_openblas(const GemmShape& shape, const T* a, const T* b, bool accumulate, T* c) {
  const auto integer = [](Index value) { return static_cast<blasint>(value); };
  const auto call = [&](auto function) {
    function(CblasRowMajor, to_cblas(shape.a), to_cblas(shape.b), integer(shape.m), integer(shape.n), integer(shape.k),
             T(1), a, integer(shape.lda), b, integer(shape.ldb), accumulate ? T(1) : T(0), c, integer(shape.ldc));
  };
  if constexpr (std::is_same_v<T, float>) {
    call(blas_for_products().sgemm);
  } else {
    call(blas_for_products().dgemm);
  }
}

/// oneDNN has two ways. Its call in the manner of a BLAS copies both operands into blocks, which pays where B is stored
/// as it is used. Its general product copies as little as it can: better where B is transposed, and where one operand
/// serves several products.
void multiply_f32(const GemmShape& shape, const float* a, const float* b, float* c, const GemmOptions& options) {
  constexpr Index kSmall = 64 * 64 * 64;  // below this number of multiplications OpenBLAS is faster
  if (gemm_library(DType::f32) == GemmLibrary::openblas || shape.m * shape.n * shape.k < kSmall) {
    return multiply_by_openblas(shape, a, b, options.accumulate, c);
  }
  if (options.kept != nullptr || options.shares_a || (shape.b == Transpose::yes && shape.m > 1)) {
    return multiply_by_onednn(shape, a, b, options.accumulate, c, options.kept);
  }
  sgemm_by_onednn(shape, a, b, options.accumulate, c);
}

struct Libraries {
  GemmLibrary f32 = suitable_library(DType::f32);
  GemmLibrary bf16 = suitable_library(DType::bf16);
};

/// Of this process, as the threads are.
Libraries& libraries() {
  static Libraries chosen;
  return chosen;
}

/// What set_blas_threads() was given.
int& threads_of_products() {
  static int threads = 1;
  return threads;
}

}  // namespace

std::string_view name_of(GemmLibrary library) { return library == GemmLibrary::onednn ? "onednn" : "openblas"; }

GemmLibrary suitable_library(DType dtype) { return onednn_suits(dtype) ? GemmLibrary::onednn : GemmLibrary::openblas; }

GemmLibrary gemm_library(DType dtype) {
  if (dtype == DType::f32) return libraries().f32;
  return dtype == DType::bf16 ? libraries().bf16 : GemmLibrary::openblas;
}

void set_gemm_library(DType dtype, GemmLibrary library) {
  const bool f32 = dtype == DType::f32;
  SHARDLINE_CHECK(library == GemmLibrary::openblas || f32 || onednn_suits(dtype),
                  "products of {} by oneDNN: it has none that are fast on this processor", name_of(dtype));
  if (f32) libraries().f32 = library;
  if (dtype == DType::bf16) libraries().bf16 = library;
}

template <class S, class T>
void gemm(const GemmShape& shape, const S* a, const S* b, T* c, const GemmOptions& options) {
  static_cast<void>(to_blas_int("m", shape.m));
  static_cast<void>(to_blas_int("n", shape.n));
  static_cast<void>(to_blas_int("k", shape.k));
  if (shape.m == 0 || shape.n == 0) return;
  check_leading("ldc", shape.ldc, shape.n);
  if (shape.k == 0) {
    if (options.accumulate) return;
    for (Index i = 0; i < shape.m; ++i) std::fill_n(c + i * shape.ldc, shape.n, T());
    return;
  }
  check_leading("lda", shape.lda, row_of_a(shape));
  check_leading("ldb", shape.ldb, row_of_b(shape));
  if constexpr (!std::is_same_v<S, double>) {
    if (is_thin(shape) && threads_of_products() == 1) return multiply_thin(shape, a, b, options.accumulate, c);
  }
  if constexpr (std::is_same_v<S, double>) {
    multiply_by_openblas(shape, a, b, options.accumulate, c);
  } else if constexpr (std::is_same_v<S, float>) {
    multiply_f32(shape, a, b, c, options);
  } else if (gemm_library(DType::bf16) == GemmLibrary::onednn) {
    multiply_by_onednn(shape, a, b, options.accumulate, c, options.kept);
  } else {
    multiply_widened(shape, a, b, options.accumulate, c);
  }
}

Cost gemm_cost(const GemmShape& shape, Index element_size) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return {Flops(2 * m * n * k), Bytes((m * k + k * n + m * n) * static_cast<double>(element_size))};
}

void set_blas_threads(int threads) {
  start_blas_threads(threads);
  set_onednn_threads(threads);
  threads_of_products() = threads;
}

int blas_threads() { return blas().get_num_threads(); }

std::string blas_description() {
  return fmt::format("{}, core {}; {}", blas().get_config(), blas().get_corename(), onednn_description());
}

template void gemm(const GemmShape&, const float*, const float*, float*, const GemmOptions&);
template void gemm(const GemmShape&, const double*, const double*, double*, const GemmOptions&);
template void gemm(const GemmShape&, const BFloat16*, const BFloat16*, float*, const GemmOptions&);
template void gemm(const GemmShape&, const BFloat16*, const BFloat16*, BFloat16*, const GemmOptions&);

}  // namespace shardline::kernels
