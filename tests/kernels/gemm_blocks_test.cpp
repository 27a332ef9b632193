// Products in bf16 of more than one block: by OpenBLAS they are made in f32, block by block. The oracle is a product in
// f64. The matrices hold small whole numbers, so every sum is exact, and a result in bf16 is the sum rounded once.
#include <type_traits>

#include "kernels/gemm/gemm.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

/// Whole numbers from -4 to 4.
template <class T>
std::vector<T> whole_numbers(Index count, Index seed) {
  std::vector<T> values;
  for (Index i = 0; i < count; ++i) {
    const auto value = static_cast<float>((i * 7 + i / 13 + i / 1000 * seed) % 9 - 4);
    values.push_back(T(value));
  }
  return values;
}

template <class T>
void check(const GemmShape& s, bool accumulate) {
  const Index size_a = (s.a == Transpose::yes ? s.k : s.m) * s.lda;
  const Index size_b = (s.b == Transpose::yes ? s.n : s.k) * s.ldb;
  const Index size_c = s.m * s.ldc;
  std::vector<double> exact = whole_numbers<double>(size_c, 5);
  const auto a = whole_numbers<double>(size_a, 2), b = whole_numbers<double>(size_b, 3);
  gemm(s, a.data(), b.data(), exact.data(), {.accumulate = accumulate});
  std::vector<T> c = whole_numbers<T>(size_c, 5);
  const auto narrow_a = whole_numbers<BFloat16>(size_a, 2), narrow_b = whole_numbers<BFloat16>(size_b, 3);
  gemm(s, narrow_a.data(), narrow_b.data(), c.data(), {.accumulate = accumulate});
  for (Index i = 0; i < size_c; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(c[at], T(static_cast<float>(exact[at]))) << "row " << i / s.ldc << ", column " << i % s.ldc;
  }
}

/// More than one block along m, along n, along k, and along all of them; none of these divides into whole blocks.
TEST(GemmBlocksTest, SumsAreExactAndRoundedOnce) {
  for (const Shape& mnk : {Shape{1100, 30, 40}, {30, 1100, 40}, {30, 40, 1100}, {1040, 1030, 600}}) {
    for (const Transpose a : {Transpose::no, Transpose::yes}) {
      for (const Transpose b : {Transpose::no, Transpose::yes}) {
        const Index m = mnk[0], n = mnk[1], k = mnk[2];
        const GemmShape shape{a,    b, m, n, k, (a == Transpose::yes ? m : k) + 3, (b == Transpose::yes ? k : n) + 2,
                              n + 1};
        for (const bool accumulate : {false, true}) {
          SCOPED_TRACE(to_string(mnk) + (accumulate ? ", added" : ""));
          check<float>(shape, accumulate);
          check<BFloat16>(shape, accumulate);
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace shardline::kernels
