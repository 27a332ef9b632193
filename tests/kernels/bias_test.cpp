#include "kernels/bias.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::unwritten;

template <class T>
class BiasTest : public ::testing::Test {};
TYPED_TEST_SUITE(BiasTest, testing::FloatTypes);

struct Case {
  Shape x;
  Shape b;
};

const std::vector<Case> kCases{
    {{2, 3, 4}, {4}}, {{2, 3, 5, 7}, {5, 7}}, {{5, 64}, {64}}, {{3, 33}, {3, 33}}, {{6}, {}}};

TYPED_TEST(BiasTest, IsAddedToEveryRow) {
  using T = TypeParam;
  for (const auto& [shape, row] : kCases) {
    const auto x = random_array<T>("x", shape);
    const auto b = random_array<T>("b", row);
    auto y = unwritten<T>(shape);
    add_bias<T>(x.view(), b.view(), y.view());
    for (Index i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] + b[i % b.size()]);
    auto in_place = x;
    add_bias<T>(std::as_const(in_place).view(), b.view(), in_place.view());
    EXPECT_EQ(in_place.values, y.values);
  }
}

TYPED_TEST(BiasTest, GradientIsTheSumOfTheRows) {
  using T = TypeParam;
  for (const auto& [shape, row] : kCases) {
    const auto dy = random_array<T>("dy", shape);
    auto db = unwritten<T>(row);
    bias_grad<T>(dy.view(), db.view());
    Array<double> expected(row);
    for (Index i = 0; i < dy.size(); ++i) expected[i % expected.size()] += static_cast<double>(dy[i]);
    expect_close(db, expected);
  }
}

TYPED_TEST(BiasTest, TakesEmptyArrays) {
  using T = TypeParam;
  auto b = random_array<T>("b", {4});
  add_bias<T>({nullptr, {0, 3, 4}}, std::as_const(b).view(), {nullptr, {0, 3, 4}});
  add_bias<T>({nullptr, {2, 0}}, {nullptr, {0}}, {nullptr, {2, 0}});
  bias_grad<T>({nullptr, {2, 0}}, {nullptr, {0}});
  bias_grad<T>({nullptr, {0, 4}}, b.view());
  for (const T value : b.values) EXPECT_EQ(value, T(0));
}

TEST(BiasErrorTest, RefusesWhatIsNoRow) {
  Array<float> x({2, 6});
  Array<float> b({4});
  EXPECT_THROW(bias_grad<float>(Array<float>({2, 5}).view(), b.view()), Error);
  EXPECT_THROW(add_bias<float>(std::as_const(x).view(), Array<float>({5}).view(), x.view()), Error);
  EXPECT_THROW(add_bias<float>(std::as_const(x).view(), std::as_const(b).view(), b.view()), Error);
}

TEST(BiasCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(add_bias_cost(12, 4, 2).flops, Flops(12));
  EXPECT_EQ(add_bias_cost(12, 4, 2).bytes, Bytes(56));
  EXPECT_EQ(bias_grad_cost(12, 4, 2).flops, Flops(12));
  EXPECT_EQ(bias_grad_cost(12, 4, 2).bytes, Bytes(32));
}

}  // namespace
}  // namespace shardline::kernels
