#include "runtime/layout/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shardline {
namespace {

/// A tensor of 10000 elements with `value` at the place `at`, and large and small numbers around it.
template <class T>
Tensor with(Index at, double value) {
  Tensor tensor(kDTypeOf<T>, {100, 100});
  for (Index i = 0; i < tensor.size(); ++i) {
    tensor.view<T>()[i] = static_cast<T>(static_cast<float>(i % 2 == 0 ? -3e38 : 1e-45));
  }
  tensor.view<T>()[at] = static_cast<T>(static_cast<float>(value));
  return tensor;
}

template <class T>
void expect_found() {
  for (const Index at : {0, 4095, 4096, 9999}) {
    EXPECT_EQ(non_finite(with<T>(at, 1)), "");
    EXPECT_EQ(non_finite(with<T>(at, std::nan(""))), "NaN");
    EXPECT_EQ(non_finite(with<T>(at, -std::numeric_limits<double>::infinity())), "infinity");
    Tensor both = with<T>(at, std::nan(""));
    both.view<T>()[1] = static_cast<T>(std::numeric_limits<float>::infinity());
    EXPECT_EQ(non_finite(both), "NaN");
  }
}

TEST(Finite, FindsWhatIsNotFinite) {
  expect_found<float>();
  expect_found<double>();
  expect_found<BFloat16>();
}

TEST(Finite, NothingAndWholeNumbersAreFinite) {
  EXPECT_EQ(non_finite(Tensor()), "");
  EXPECT_EQ(non_finite(Tensor(DType::f32, {3, 0})), "");
  Tensor whole(DType::i32, {1});
  whole.view<std::int32_t>()[0] = -1;  // all bits set
  EXPECT_EQ(non_finite(whole), "");
}

}  // namespace
}  // namespace shardline
