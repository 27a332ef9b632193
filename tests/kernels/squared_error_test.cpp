#include "kernels/squared_error.h"

#include "kernels/descent.h"
#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::unwritten;

template <class T>
class SquaredErrorTest : public ::testing::Test {};
TYPED_TEST_SUITE(SquaredErrorTest, testing::FloatTypes);

TYPED_TEST(SquaredErrorTest, IsTheScaledSumOfSquaredDifferences) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{5, 15}, Shape{1}, Shape{64}}) {
    const auto out = random_array<T>("out", shape), target = random_array<T>("target", shape);
    double want = 0;
    for (Index i = 0; i < out.size(); ++i) want += std::pow(static_cast<double>(out[i] - target[i]), 2);
    Array<double> expected({}, 0.25 * want);
    auto loss = unwritten<T>({});
    squared_error<T>(out.view(), target.view(), 0.25, loss.view());
    expect_close(loss, expected);
  }
}

TYPED_TEST(SquaredErrorTest, SumsInDoubles) {
  using T = TypeParam;
  // 2^20 terms of 16: an f32 sum would stop growing and lose the last element.
  Array<T> out({(Index{1} << 20) + 1}, T(4)), zero({(Index{1} << 20) + 1}), loss({});
  out[out.size() - 1] = T(8);
  squared_error<T>(out.view(), zero.view(), 1, loss.view());
  EXPECT_EQ(loss[0], static_cast<T>(16777216.0 + 64));
}

TEST(SquaredErrorGradient, EqualsCentralDifferences) {
  auto out = random_array<double>("out", {3, 13});
  const auto target = random_array<double>("target", {3, 13});
  Array<double> loss({});
  const auto twice = [&] {
    squared_error<double>(out.view(), target.view(), 0.1, loss.view());
    return 2 * loss[0];
  };
  const Array<double> expected = testing::numeric_gradient(out, twice);
  auto gradient = unwritten<double>({3, 13});
  squared_error_grad<double>(out.view(), target.view(), 2, 0.1, gradient.view());
  expect_close(gradient, expected, testing::kGradientTolerance);
  squared_error_grad<double>(out.view(), target.view(), 2, 0.1, out.view());  // in place
  EXPECT_EQ(out.values, gradient.values);
}

TYPED_TEST(SquaredErrorTest, TakesEmptyArraysAndRefusesOtherSizes) {
  using T = TypeParam;
  const View<T> none{nullptr, {0, 4}};
  Array<T> loss({}, T(3)), three({3}), two({2});
  squared_error<T>(none, none, 1, loss.view());
  EXPECT_EQ(loss[0], T(0));
  squared_error_grad<T>(none, none, 1, 1, none);
  EXPECT_THROW(squared_error<T>(three.view(), two.view(), 1, loss.view()), Error);
  EXPECT_THROW(squared_error<T>(three.view(), three.view(), 1, two.view()), Error);
  EXPECT_THROW(squared_error_grad<T>(three.view(), two.view(), 1, 1, three.view()), Error);
  EXPECT_THROW(squared_error_grad<T>(three.view(), three.view(), 1, 1, two.view()), Error);
}

TYPED_TEST(SquaredErrorTest, DescentTakesAStepAgainstTheGradient) {
  using T = TypeParam;
  auto p = random_array<T>("p", {75});
  const auto g = random_array<T>("g", {75});
  Array<double> expected({75});
  for (Index i = 0; i < 75; ++i) expected[i] = static_cast<double>(p[i]) - 0.125 * static_cast<double>(g[i]);
  auto made = unwritten<T>({75});
  descent<T>(p.view(), g.view(), 0.125, made.view());
  expect_close(made, expected);
  descent<T>(p.view(), g.view(), 0.125, p.view());  // in place
  EXPECT_EQ(p.values, made.values);
  EXPECT_THROW(descent<T>(p.view(), Array<T>({3}).view(), 1, p.view()), Error);
  EXPECT_THROW(descent<T>(p.view(), p.view(), 1, Array<T>({3}).view()), Error);
}

TEST(SquaredErrorCost, CountsEveryArrayOnce) {
  EXPECT_EQ(squared_error_cost(10, 4).bytes, Bytes(80));
  EXPECT_EQ(squared_error_grad_cost(10, 4).bytes, Bytes(120));
  EXPECT_EQ(descent_cost(10, 2, 4).bytes, Bytes(10 * (2 + 2 + 4)));
  EXPECT_EQ(descent_cost(10, 4, 4).flops, Flops(20));
}

}  // namespace
}  // namespace shardline::kernels
