#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "runtime/base/counter_rng.h"
#include "runtime/base/view.h"

/// Shared parts of the kernel tests: arrays that own their memory, comparisons, and gradients by finite
/// differences.
namespace shardline::kernels::testing {

/// An array in memory of exactly its size, so the address sanitizer sees every access past its ends.
template <class T>
struct Array {
  Shape shape;
  std::vector<T> values;

  explicit Array(Shape s, T value = T(0))
      : shape(std::move(s)), values(static_cast<std::size_t>(element_count(shape)), value) {}

  View<T> view() { return {values.empty() ? nullptr : values.data(), shape}; }
  View<const T> view() const { return {values.empty() ? nullptr : values.data(), shape}; }
  Index size() const { return static_cast<Index>(values.size()); }
  T& operator[](Index i) { return values[static_cast<std::size_t>(i)]; }
  const T& operator[](Index i) const { return values[static_cast<std::size_t>(i)]; }
};

/// Standard normal values that depend only on the name.
template <class T>
Array<T> random_array(std::string_view name, Shape shape) {
  Array<T> array(std::move(shape));
  const CounterRng rng(7, name);
  for (Index i = 0; i < array.size(); ++i) array[i] = static_cast<T>(rng.normal(i));
  return array;
}

/// An array of NaN, which shows elements that are not written.
template <class T>
Array<T> unwritten(Shape shape) {
  return Array<T>(std::move(shape), std::numeric_limits<T>::quiet_NaN());
}

/// Relative tolerance for results of kernels in T.
template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-5 : 1e-12;

/// Expects equal sizes and differences within `tolerance` of the largest expected magnitude.
template <class T, class U>
void expect_close(const Array<T>& actual, const Array<U>& expected, double tolerance = kTolerance<T>) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (const U value : expected.values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (Index i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    ASSERT_LE(difference, tolerance * std::max(largest, 1e-300))
        << "element " << i << " of " << to_string(actual.shape) << ": " << actual[i] << " against " << expected[i];
  }
}

/// sum of a[i] b[i]: a scalar loss whose gradient for `a` is `b`.
inline double inner_product(const Array<double>& a, const Array<double>& b) {
  double sum = 0;
  for (Index i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The gradient of loss() for every element of `x`, by central differences.
inline Array<double> numeric_gradient(Array<double>& x, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  Array<double> gradient(x.shape);
  for (Index i = 0; i < x.size(); ++i) {
    const double value = x[i];
    x[i] = value + kStep;
    const double above = loss();
    x[i] = value - kStep;
    const double below = loss();
    x[i] = value;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

inline constexpr double kGradientTolerance = 1e-7;

/// The block [begin, end) of dim `dim`.
template <class T>
Array<T> slice(const Array<T>& whole, std::size_t dim, Range range) {
  Shape shape = whole.shape;
  shape[dim] = range.size();
  Array<T> block(shape);
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(dim);
  const Index outer = element_count(Shape(shape.begin(), at));
  const Index inner = element_count(Shape(at + 1, shape.end()));
  for (Index o = 0; o < outer; ++o) {
    for (Index i = 0; i < range.size() * inner; ++i) {
      block[o * range.size() * inner + i] = whole[(o * whole.shape[dim] + range.begin) * inner + i];
    }
  }
  return block;
}

using FloatTypes = ::testing::Types<float, double>;

}  // namespace shardline::kernels::testing
