#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/base/check.h"
#include "runtime/base/with_type.h"
#include "tests/kernels/support.h"

/// Shared parts of the tests of experts: arrays in every type that is stored, beside their elements in f64.
namespace shardline::kernels::testing {

using StoredTypes = ::testing::Types<BFloat16, float, double>;
using Ids = Array<std::int32_t>;

template <class T>
double wide(T value) {
  return static_cast<double>(static_cast<SumOf<T>>(value));
}

template <class T>
Array<T> nans(Shape shape) {
  return Array<T>(std::move(shape), from_double<T>(std::numeric_limits<double>::quiet_NaN()));
}

/// Standard normal values that depend only on the name, as T holds them.
template <class T>
Array<T> stored_array(std::string_view name, Shape shape) {
  Array<T> array(std::move(shape));
  const CounterRng rng(7, name);
  for (Index i = 0; i < array.size(); ++i) array[i] = from_double<T>(rng.normal(i));
  return array;
}

/// Expects differences of one rounding to T, and of sums in SumOf<T>. Where NaN is expected there must be NaN.
template <class T>
void expect_stored(const Array<T>& actual, const Array<double>& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  double largest = 0;
  for (const double value : expected.values) {
    if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
  }
  for (Index i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(wide(actual[i]))) << "element " << i << " is " << wide(actual[i]);
      continue;
    }
    const double rounding = std::is_same_v<T, BFloat16> ? std::abs(expected[i]) / 256 : 0;
    ASSERT_NEAR(wide(actual[i]), expected[i], kTolerance<SumOf<T>> * largest + rounding) << "element " << i;
  }
}

}  // namespace shardline::kernels::testing
