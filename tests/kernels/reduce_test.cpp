#include "kernels/reduce.h"

#include <limits>
#include <type_traits>

#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

template <class T>
class AccumulateTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, BFloat16, std::int32_t>;
TYPED_TEST_SUITE(AccumulateTest, Types);

template <class T>
std::vector<T> values_of(std::string_view name, Index count) {
  const CounterRng rng(3, name);
  std::vector<T> values;
  for (Index i = 0; i < count; ++i) {
    const double value = 100 * rng.normal(i);
    if constexpr (std::is_same_v<T, BFloat16>) {
      values.push_back(BFloat16(static_cast<float>(value)));
    } else {
      values.push_back(static_cast<T>(value));
    }
  }
  return values;
}

/// The operation on single elements, in the precision that the contract names.
template <class T>
T expected(ReduceOp op, T a, T b) {
  using Wide = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;
  const auto x = static_cast<Wide>(a);
  const auto y = static_cast<Wide>(b);
  return T(op == ReduceOp::sum ? x + y : std::max(x, y));
}

TYPED_TEST(AccumulateTest, EqualsTheElementwiseOperationAtEveryLength) {
  using T = TypeParam;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    for (const Index count : {0, 1, 7, 8, 31, 32, 33, 1000}) {
      std::vector<T> into = values_of<T>("into", count);
      const std::vector<T> before = into;
      const std::vector<T> from = values_of<T>("from", count);
      accumulate(op, kDTypeOf<T>, into.data(), from.data(), count);
      for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], expected(op, before[i], from[i])) << i;
    }
  }
}

TYPED_TEST(AccumulateTest, TakesNullForNothing) {
  accumulate(ReduceOp::sum, kDTypeOf<TypeParam>, nullptr, nullptr, 0);
  accumulate(ReduceOp::max, kDTypeOf<TypeParam>, nullptr, nullptr, 0);
}

template <class T>
void expect_max_keeps_nan() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<T> into(40, T(1.0F));
  std::vector<T> from(40, T(2.0F));
  into[3] = T(nan);
  from[20] = T(nan);
  accumulate(ReduceOp::max, kDTypeOf<T>, into.data(), from.data(), 40);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto value = static_cast<float>(into[i]);
    EXPECT_TRUE(i == 3 || i == 20 ? std::isnan(value) : value == 2.0F) << "element " << i << " is " << value;
  }
}

TEST(AccumulateNanTest, MaximumKeepsNanOfEitherSide) {
  expect_max_keeps_nan<float>();
  expect_max_keeps_nan<double>();
  expect_max_keeps_nan<BFloat16>();
}

TEST(AccumulateBFloat16Test, RoundsOnceToNearestEven) {
  // 1 + 2^-8 lies half way between 1 and 1 + 2^-7 and goes to the even 1; 1 + 2^-7 + 2^-8 goes up to 1 + 2^-6.
  std::vector<BFloat16> into{BFloat16(1.0F), BFloat16(1.0078125F)};
  const std::vector<BFloat16> from(2, BFloat16(0.00390625F));
  accumulate(ReduceOp::sum, DType::bf16, into.data(), from.data(), 2);
  EXPECT_EQ(static_cast<float>(into[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(into[1]), 1.015625F);
}

TEST(AccumulateCostTest, CountsTwoReadsAndOneWrite) {
  const Cost cost = accumulate_cost(10, 2);
  EXPECT_EQ(cost.flops, Flops(10));
  EXPECT_EQ(cost.bytes, Bytes(60));
}

}  // namespace
}  // namespace shardline::kernels
