// Products of few rows. The oracle is a triple loop over small whole numbers, so every sum is exact, and a result in
// bf16 is the sum rounded once. What lies between the rows of the matrices is NaN.
#include "kernels/gemm/thin.h"

#include <cstring>
#include <type_traits>

#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::random_array;

/// Whole numbers from -4 to 4 in rows of `row` elements, and NaN up to `leading`.
template <class T>
std::vector<T> whole_numbers(Index rows, Index row, Index leading, Index seed) {
  std::vector<T> values(static_cast<std::size_t>(rows * leading), T(std::numeric_limits<float>::quiet_NaN()));
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < row; ++j) {
      const Index at = i * row + j;
      values[static_cast<std::size_t>(i * leading + j)] = T(static_cast<float>((at * 7 + at / 13 * seed) % 9 - 4));
    }
  }
  return values;
}

template <class T>
float as_float(const std::vector<T>& values, Index at) {
  return static_cast<float>(values[static_cast<std::size_t>(at)]);
}

GemmShape shape_of(Transpose a, Transpose b, Index m, Index n, Index k, Index gap) {
  return {a, b, m, n, k, (a == Transpose::yes ? m : k) + gap, (b == Transpose::yes ? k : n) + gap, n + gap};
}

template <class S, class T>
void check(const GemmShape& s, bool accumulate) {
  const bool turned_a = s.a == Transpose::yes, turned_b = s.b == Transpose::yes;
  const auto a = whole_numbers<S>(turned_a ? s.k : s.m, turned_a ? s.m : s.k, s.lda, 2);
  const auto b = whole_numbers<S>(turned_b ? s.n : s.k, turned_b ? s.k : s.n, s.ldb, 3);
  const auto before = whole_numbers<T>(s.m, accumulate ? s.n : 0, s.ldc, 5);
  std::vector<T> c = before;
  multiply_thin<S, T>(s, a.data(), b.data(), accumulate, c.data());
  for (Index i = 0; i < s.m; ++i) {
    for (Index j = 0; j < s.n; ++j) {
      float sum = accumulate ? as_float(before, i * s.ldc + j) : 0;
      for (Index l = 0; l < s.k; ++l) {
        sum += as_float(a, turned_a ? l * s.lda + i : i * s.lda + l) *
               as_float(b, turned_b ? j * s.ldb + l : l * s.ldb + j);
      }
      ASSERT_EQ(as_float(c, i * s.ldc + j), static_cast<float>(T(sum))) << "row " << i << ", column " << j;
    }
    for (Index j = s.n; j < s.ldc; ++j) ASSERT_TRUE(std::isnan(as_float(c, i * s.ldc + j))) << "beside row " << i;
  }
}

template <class S, class T>
void check_shapes() {
  for (const Index m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16}) {
    for (const Shape& nk : {Shape{1, 1},
                            {3, 5},
                            {33, 31},
                            {70, 131},
                            {100, 64},
                            {16, 99},
                            {257, 33},
                            {40, 2},
                            {300, 3},
                            {9, 6},
                            {64, 7}}) {
      for (const Transpose a : {Transpose::no, Transpose::yes}) {
        for (const Transpose b : {Transpose::no, Transpose::yes}) {
          SCOPED_TRACE(to_string({m, nk[0], nk[1]}));
          check<S, T>(shape_of(a, b, m, nk[0], nk[1], 0), true);
          check<S, T>(shape_of(a, b, m, nk[0], nk[1], 3), false);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(ThinTest, IsExactForAllShapesInF32) { check_shapes<float, float>(); }
TEST(ThinTest, IsExactForAllShapesInBf16) { check_shapes<BFloat16, float>(); }
TEST(ThinTest, RoundsToBf16Once) { check_shapes<BFloat16, BFloat16>(); }

/// More columns than have sums at a time, and matrices beyond the caches of a core.
TEST(ThinTest, IsExactForLargeMatrices) {
  for (const Index m : {1, 3, 10}) {
    check<float, float>(shape_of(Transpose::no, Transpose::no, m, 33001, 67, 1), false);
    check<BFloat16, BFloat16>(shape_of(Transpose::no, Transpose::no, m, 33001, 67, 1), true);
    check<BFloat16, float>(shape_of(Transpose::no, Transpose::yes, m, 67, 33001, 1), false);
  }
}

template <class S>
void check_rows(Transpose transpose) {
  constexpr Index kN = 150, kK = 203;
  for (const Index m : {2, 4, 7, 8, 13, 16}) {
    const auto numbers = random_array<float>("a", {m, kK}), weights = random_array<float>("b", {kN, kK});
    std::vector<S> a, b;
    for (const float value : numbers.values) a.push_back(S(value));
    for (const float value : weights.values) b.push_back(S(value));
    std::vector<float> all(static_cast<std::size_t>(m * kN)), one(kN);
    multiply_thin<S, float>(shape_of(Transpose::no, transpose, m, kN, kK, 0), a.data(), b.data(), false, all.data());
    for (Index i = 0; i < m; ++i) {
      multiply_thin<S, float>(shape_of(Transpose::no, transpose, 1, kN, kK, 0), a.data() + i * kK, b.data(), false,
                              one.data());
      ASSERT_EQ(std::memcmp(one.data(), all.data() + i * kN, kN * sizeof(float)), 0) << "row " << i << " of " << m;
    }
  }
}

TEST(ThinTest, RowsHaveTheBitsOfProductsOfOneRow) {
  for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
    check_rows<float>(transpose);
    check_rows<BFloat16>(transpose);
  }
}

TEST(ThinTest, SixteenRowsAreThin) {
  EXPECT_TRUE(is_thin({.m = 16, .n = 5, .k = 5}));
  EXPECT_FALSE(is_thin({.m = 17, .n = 5, .k = 5}));
}

}  // namespace
}  // namespace shardline::kernels
