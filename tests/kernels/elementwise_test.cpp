#include "kernels/elementwise.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::inner_product;
using testing::kGradientTolerance;
using testing::numeric_gradient;
using testing::random_array;
using testing::unwritten;

template <class T>
class ElementwiseTest : public ::testing::Test {};
TYPED_TEST_SUITE(ElementwiseTest, testing::FloatTypes);

const std::vector<Index> kCounts{0, 1, 7, 31, 32, 33, 64, 200};

double silu_plainly(double g) { return g / (1 + std::exp(-g)); }

double gelu_plainly(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

TYPED_TEST(ElementwiseTest, AddsInTheOrderOfTheTerms) {
  using T = TypeParam;
  for (const Index count : kCounts) {
    const auto a = random_array<T>("a", {count});
    const auto b = random_array<T>("b", {count});
    const auto c = random_array<T>("c", {count});
    auto out = unwritten<T>({count});
    const std::vector<View<const T>> terms{a.view(), b.view(), c.view()};
    add<T>(terms, out.view());
    for (Index i = 0; i < count; ++i) ASSERT_EQ(out[i], (a[i] + b[i]) + c[i]);
    add<T>({terms.data(), 1}, out.view());
    for (Index i = 0; i < count; ++i) ASSERT_EQ(out[i], a[i]);
  }
}

TYPED_TEST(ElementwiseTest, AddsIntoATerm) {
  using T = TypeParam;
  auto a = random_array<T>("a", {50});
  const auto before = a;
  const auto b = random_array<T>("b", {50});
  const std::vector<View<const T>> terms{b.view(), std::as_const(a).view()};
  add<T>(terms, a.view());
  for (Index i = 0; i < 50; ++i) ASSERT_EQ(a[i], b[i] + before[i]);
}

TYPED_TEST(ElementwiseTest, SiluMulEqualsItsDefinition) {
  using T = TypeParam;
  for (const Index count : kCounts) {
    const auto g = random_array<T>("g", {count});
    const auto u = random_array<T>("u", {count});
    auto y = unwritten<T>({count});
    silu_mul<T>(g.view(), u.view(), y.view());
    Array<double> expected({count});
    for (Index i = 0; i < count; ++i) {
      expected[i] = silu_plainly(static_cast<double>(g[i])) * static_cast<double>(u[i]);
    }
    expect_close(y, expected);
  }
}

TYPED_TEST(ElementwiseTest, GeluEqualsItsDefinition) {
  using T = TypeParam;
  for (const Index count : kCounts) {
    const auto x = random_array<T>("x", {count});
    auto y = unwritten<T>({count});
    gelu<T>(x.view(), y.view());
    Array<double> expected({count});
    for (Index i = 0; i < count; ++i) expected[i] = gelu_plainly(static_cast<double>(x[i]));
    expect_close(y, expected);
  }
}

TYPED_TEST(ElementwiseTest, SaturatesAndKeepsNan) {
  using T = TypeParam;
  const T large = T(1e4);
  Array<T> x({5});
  x.values = {large, -large, T(0), std::numeric_limits<T>::quiet_NaN(), T(1)};
  const Array<T> one({5}, T(1));
  for (const bool is_gelu : {false, true}) {
    auto y = unwritten<T>({5});
    if (is_gelu) {
      gelu<T>(std::as_const(x).view(), y.view());
    } else {
      silu_mul<T>(std::as_const(x).view(), one.view(), y.view());
    }
    EXPECT_EQ(y[0], large);
    EXPECT_NEAR(static_cast<double>(y[1]), 0, 1e-30);
    EXPECT_EQ(y[2], T(0));
    EXPECT_TRUE(std::isnan(y[3]));
    EXPECT_FALSE(std::isnan(y[4]));
  }
}

/// The same values at every distance from an aligned address, whole vectors or not, give the same bits.
TYPED_TEST(ElementwiseTest, DoesNotDependOnAlignment) {
  using T = TypeParam;
  const Index count = 101;
  const auto g = random_array<T>("g", {count});
  auto expected = unwritten<T>({count});
  silu_mul<T>(g.view(), g.view(), expected.view());
  for (Index shift = 0; shift < 9; ++shift) {
    Array<T> from({count + 16});
    auto to = unwritten<T>({count + 16});
    std::copy(g.values.begin(), g.values.end(), from.values.begin() + shift);
    const View<const T> shifted{from.values.data() + shift, {count}};
    silu_mul<T>(shifted, shifted, {to.values.data() + shift, {count}});
    for (Index i = 0; i < count; ++i) ASSERT_EQ(to[i + shift], expected[i]) << "shift " << shift;
  }
}

TEST(ElementwiseGradTest, SiluMulGradEqualsFiniteDifferences) {
  auto g = random_array<double>("g", {3, 13});
  auto u = random_array<double>("u", {3, 13});
  const auto dy = random_array<double>("dy", {3, 13});
  auto dg = unwritten<double>({3, 13});
  auto du = unwritten<double>({3, 13});
  silu_mul_grad<double>(dy.view(), g.view(), u.view(), dg.view(), du.view());
  const auto loss = [&] {
    Array<double> y(g.shape);
    silu_mul<double>(g.view(), u.view(), y.view());
    return inner_product(y, dy);
  };
  expect_close(dg, numeric_gradient(g, loss), kGradientTolerance);
  expect_close(du, numeric_gradient(u, loss), kGradientTolerance);
}

TEST(ElementwiseGradTest, GeluGradEqualsFiniteDifferences) {
  auto x = random_array<double>("x", {3, 13});
  const auto dy = random_array<double>("dy", {3, 13});
  auto dx = unwritten<double>({3, 13});
  gelu_grad<double>(dy.view(), x.view(), dx.view());
  const auto loss = [&] {
    Array<double> y(x.shape);
    gelu<double>(x.view(), y.view());
    return inner_product(y, dy);
  };
  expect_close(dx, numeric_gradient(x, loss), kGradientTolerance);
}

TYPED_TEST(ElementwiseTest, GradientsTakeEveryCountInBothTypes) {
  using T = TypeParam;
  for (const Index count : kCounts) {
    const auto dy = random_array<T>("dy", {count});
    const auto x = random_array<T>("x", {count});
    const auto u = random_array<T>("u", {count});
    const auto widen = [&](const Array<T>& a) {
      Array<double> wide(a.shape);
      std::copy(a.values.begin(), a.values.end(), wide.values.begin());
      return wide;
    };
    auto dg = unwritten<T>({count}), du = dg, dx = dg;
    silu_mul_grad<T>(dy.view(), x.view(), u.view(), dg.view(), du.view());
    gelu_grad<T>(dy.view(), x.view(), dx.view());
    auto wide_dg = unwritten<double>({count}), wide_du = wide_dg, wide_dx = wide_dg;
    const auto wide_dy = widen(dy), wide_x = widen(x), wide_u = widen(u);
    silu_mul_grad<double>(wide_dy.view(), wide_x.view(), wide_u.view(), wide_dg.view(), wide_du.view());
    gelu_grad<double>(wide_dy.view(), wide_x.view(), wide_dx.view());
    expect_close(dg, wide_dg);
    expect_close(du, wide_du);
    expect_close(dx, wide_dx);
  }
}

TYPED_TEST(ElementwiseTest, Fills) {
  auto out = unwritten<TypeParam>({4, 5});
  fill<TypeParam>(out.view(), TypeParam(3));
  for (const TypeParam value : out.values) EXPECT_EQ(value, TypeParam(3));
  fill<TypeParam>({nullptr, {0}}, TypeParam(1));
}

TEST(ElementwiseErrorTest, RefusesArraysOfOtherSizes) {
  Array<float> a({4});
  Array<float> b({5});
  EXPECT_THROW(silu_mul<float>(a.view(), b.view(), a.view()), Error);
  EXPECT_THROW(gelu<float>(a.view(), b.view()), Error);
  EXPECT_THROW(add<float>({}, a.view()), Error);
}

TEST(ElementwiseCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(add_cost(3, 10, 4).flops, Flops(20));
  EXPECT_EQ(add_cost(3, 10, 4).bytes, Bytes(160));
  EXPECT_EQ(silu_mul_cost(10, 4).bytes, Bytes(120));
  EXPECT_EQ(silu_mul_grad_cost(10, 4).bytes, Bytes(200));
  EXPECT_EQ(gelu_cost(10, 8).bytes, Bytes(160));
  EXPECT_EQ(gelu_grad_cost(10, 8).bytes, Bytes(240));
  EXPECT_EQ(fill_cost(10, 8).bytes, Bytes(80));
}

}  // namespace
}  // namespace shardline::kernels
