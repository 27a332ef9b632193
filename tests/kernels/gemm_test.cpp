#include "kernels/gemm/gemm.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::unwritten;

template <class T>
class GemmTest : public ::testing::Test {};
TYPED_TEST_SUITE(GemmTest, testing::FloatTypes);

/// op(A) op(B) + beta C in f64. `shape` gives the leading dimension of every matrix.
template <class T>
Array<double> multiply_plainly(const GemmShape& s, const Array<T>& a, const Array<T>& b, double beta,
                               const Array<T>& c) {
  Array<double> result(c.shape);
  for (Index i = 0; i < c.size(); ++i) result[i] = static_cast<double>(c[i]);
  for (Index i = 0; i < s.m; ++i) {
    for (Index j = 0; j < s.n; ++j) {
      double sum = 0;
      for (Index l = 0; l < s.k; ++l) {
        const T left = s.a == Transpose::yes ? a[l * s.lda + i] : a[i * s.lda + l];
        const T right = s.b == Transpose::yes ? b[j * s.ldb + l] : b[l * s.ldb + j];
        sum += static_cast<double>(left) * static_cast<double>(right);
      }
      const double old = beta == 0 ? 0 : beta * static_cast<double>(c[i * s.ldc + j]);
      result[i * s.ldc + j] = sum + old;
    }
  }
  return result;
}

/// A shape whose leading dimensions exceed the rows by `gap`.
GemmShape shape_with_gap(Transpose a, Transpose b, Index m, Index n, Index k, Index gap) {
  return {a, b, m, n, k, (a == Transpose::yes ? m : k) + gap, (b == Transpose::yes ? k : n) + gap, n + gap};
}

template <class T>
void check_product(const GemmShape& s, bool accumulate) {
  const auto a = random_array<T>("a", {s.a == Transpose::yes ? s.k : s.m, s.lda});
  const auto b = random_array<T>("b", {s.b == Transpose::yes ? s.n : s.k, s.ldb});
  auto c = random_array<T>("c", {s.m, s.ldc});
  const auto expected = multiply_plainly(s, a, b, accumulate ? 1 : 0, c);
  gemm<T>(s, a.view().data, b.view().data, c.view().data, {.accumulate = accumulate});
  expect_close(c, expected);
}

TYPED_TEST(GemmTest, EqualsTheTripleLoop) {
  for (const Transpose a : {Transpose::no, Transpose::yes}) {
    for (const Transpose b : {Transpose::no, Transpose::yes}) {
      for (const Shape& mnk : {Shape{1, 1, 1}, {3, 5, 7}, {17, 1, 9}, {1, 19, 4}, {33, 65, 31}, {64, 64, 64}}) {
        check_product<TypeParam>(shape_with_gap(a, b, mnk[0], mnk[1], mnk[2], 0), false);
        check_product<TypeParam>(shape_with_gap(a, b, mnk[0], mnk[1], mnk[2], 3), true);
      }
    }
  }
}

TYPED_TEST(GemmTest, TakesEmptyExtents) {
  using T = TypeParam;
  for (const Shape& mnk : {Shape{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {0, 0, 0}}) {
    check_product<T>(shape_with_gap(Transpose::no, Transpose::yes, mnk[0], mnk[1], mnk[2], 0), true);
  }
  gemm<T, T>({}, nullptr, nullptr, nullptr);
}

TYPED_TEST(GemmTest, DoesNotReadAnOverwrittenResult) {
  using T = TypeParam;
  const auto a = random_array<T>("a", {4, 4});
  for (const Index k : {Index{0}, Index{4}}) {
    auto c = unwritten<T>({4, 4});
    const GemmShape shape{.m = 4, .n = 4, .k = k, .lda = 4, .ldb = 4, .ldc = 4};
    gemm<T>(shape, a.view().data, a.view().data, c.view().data);
    for (const T value : c.values) EXPECT_FALSE(std::isnan(value));
  }
}

TEST(GemmErrorTest, NamesTheExtentThatTheBlasCannotTake) {
  const GemmShape shape{.m = 1, .n = 1, .k = Index{1} << 31, .lda = Index{1} << 31, .ldb = 1, .ldc = 1};
  try {
    gemm<float, float>(shape, nullptr, nullptr, nullptr);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("k is 2147483648"), std::string::npos) << error.what();
  }
}

TEST(GemmErrorTest, RefusesLeadingDimensionsThatOverlapRows) {
  float c[4] = {};
  EXPECT_THROW(gemm<float>({.m = 2, .n = 2, .k = 1, .lda = 1, .ldb = 1, .ldc = 2}, c, c, c), Error);
}

TEST(BlasTest, DescribesItselfAndKeepsTheThreadCount) {
  EXPECT_NE(blas_description().find("OpenBLAS"), std::string::npos) << blas_description();
  const int before = blas_threads();
  set_blas_threads(1);
  EXPECT_EQ(blas_threads(), 1);
  set_blas_threads(before);
  EXPECT_THROW(set_blas_threads(0), Error);
}

TEST(GemmCostTest, CountsTheProductAndEachMatrixOnce) {
  const Cost cost = gemm_cost({.m = 2, .n = 3, .k = 5}, 4);
  EXPECT_EQ(cost.flops, Flops(60));
  EXPECT_EQ(cost.bytes, Bytes(4 * (10 + 15 + 6)));
}

}  // namespace
}  // namespace shardline::kernels
