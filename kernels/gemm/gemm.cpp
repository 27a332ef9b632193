#include "kernels/gemm/gemm.h"

#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/gemm/openblas.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

blasint to_blas_int(const char* name, Index value) {
  constexpr Index kLargest = std::numeric_limits<blasint>::max();
  SHARDLINE_CHECK(value >= 0 && value <= kLargest, "gemm: {} is {}; the BLAS takes 0 to {}", name, value, kLargest);
  return static_cast<blasint>(value);
}

void check_leading(const char* name, Index value, Index row) {
  SHARDLINE_CHECK(value >= row, "gemm: {} is {}, less than the {} elements of a row", name, value, row);
}

CBLAS_TRANSPOSE to_cblas(Transpose transpose) { return transpose == Transpose::yes ? CblasTrans : CblasNoTrans; }

template <class T>
void scale_rows(Index m, Index n, Index ldc, T beta, T* c) {
  for (Index i = 0; i < m; ++i) {
    T* row = c + i * ldc;
    for (Index j = 0; j < n; ++j) row[j] = beta == T(0) ? T(0) : beta * row[j];
  }
}

/// The f32 copy of a matrix of `rows` rows of `row` elements each, `leading` elements apart. The rows of the copy
/// touch.
std::vector<float> widen(const BFloat16* from, Index rows, Index row, Index leading) {
  std::vector<float> wide(static_cast<std::size_t>(rows * row));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < row; ++j)
      wide[static_cast<std::size_t>(i * row + j)] = static_cast<float>(from[i * leading + j]);
  }
  return wide;
}

/// A product of operands in bf16 by the BLAS in f32.
template <class T>
void multiply_widened(const GemmShape& shape, const BFloat16* a, const BFloat16* b, bool accumulate, T* c) {
  const bool turned_a = shape.a == Transpose::yes, turned_b = shape.b == Transpose::yes;
  GemmShape wide = shape;
  wide.lda = turned_a ? shape.m : shape.k;
  wide.ldb = turned_b ? shape.k : shape.n;
  const std::vector<float> wide_a = widen(a, turned_a ? shape.k : shape.m, wide.lda, shape.lda);
  const std::vector<float> wide_b = widen(b, turned_b ? shape.n : shape.k, wide.ldb, shape.ldb);
  if constexpr (std::is_same_v<T, float>) {
    gemm<float>(wide, 1, wide_a.data(), wide_b.data(), accumulate ? 1 : 0, c);
  } else {
    wide.ldc = shape.n;
    std::vector<float> sum(static_cast<std::size_t>(shape.m * shape.n));
    if (accumulate) sum = widen(c, shape.m, shape.n, shape.ldc);
    gemm<float>(wide, 1, wide_a.data(), wide_b.data(), accumulate ? 1 : 0, sum.data());
    for (Index i = 0; i < shape.m; ++i) {
      for (Index j = 0; j < shape.n; ++j) c[i * shape.ldc + j] = T(sum[static_cast<std::size_t>(i * shape.n + j)]);
    }
  }
}

}  // namespace

template <class T>
void gemm(const GemmShape& shape, T alpha, const T* a, const T* b, T beta, T* c) {
  const blasint m = to_blas_int("m", shape.m);
  const blasint n = to_blas_int("n", shape.n);
  const blasint k = to_blas_int("k", shape.k);
  if (m == 0 || n == 0) return;
  check_leading("ldc", shape.ldc, shape.n);
  if (k == 0) return scale_rows(shape.m, shape.n, shape.ldc, beta, c);
  check_leading("lda", shape.lda, shape.a == Transpose::yes ? shape.m : shape.k);
  check_leading("ldb", shape.ldb, shape.b == Transpose::yes ? shape.k : shape.n);
  const blasint lda = to_blas_int("lda", shape.lda);
  const blasint ldb = to_blas_int("ldb", shape.ldb);
  const blasint ldc = to_blas_int("ldc", shape.ldc);
  const CBLAS_TRANSPOSE a_transpose = to_cblas(shape.a);
  const CBLAS_TRANSPOSE b_transpose = to_cblas(shape.b);
  if constexpr (std::is_same_v<T, float>) {
    blas_for_products().sgemm(CblasRowMajor, a_transpose, b_transpose, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  } else {
    blas_for_products().dgemm(CblasRowMajor, a_transpose, b_transpose, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }
}

template <class T>
void gemm_bf16(const GemmShape& shape, const BFloat16* a, const BFloat16* b, bool accumulate, T* c) {
  multiply_widened(shape, a, b, accumulate, c);
}

Cost gemm_cost(const GemmShape& shape, Index element_size) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  return {Flops(2 * m * n * k), Bytes((m * k + k * n + m * n) * static_cast<double>(element_size))};
}

void set_blas_threads(int threads) { start_blas_threads(threads); }

int blas_threads() { return blas().get_num_threads(); }

std::string blas_description() { return fmt::format("{}, core {}", blas().get_config(), blas().get_corename()); }

template void gemm_bf16(const GemmShape&, const BFloat16*, const BFloat16*, bool, float*);
template void gemm_bf16(const GemmShape&, const BFloat16*, const BFloat16*, bool, BFloat16*);
template void gemm(const GemmShape&, float, const float*, const float*, float, float*);
template void gemm(const GemmShape&, double, const double*, const double*, double, double*);

}  // namespace shardline::kernels
