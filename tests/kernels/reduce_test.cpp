#include "kernels/reduce.h"

#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

template <class T>
class CombineTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, BFloat16, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(CombineTest, Types);

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

/// The operation on single elements, in the documented precision.
template <class T>
T expected(ReduceOp op, T a, T b) {
  using Wide = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;
  const auto x = static_cast<Wide>(a);
  const auto y = static_cast<Wide>(b);
  return T(op == ReduceOp::sum ? x + y : std::max(x, y));
}

/// into = into op from.
template <class T>
void combine_into(ReduceOp op, std::vector<T>& into, const std::vector<T>& from) {
  const std::array<Source, 2> sources{{{kDTypeOf<T>, into.data()}, {kDTypeOf<T>, from.data()}}};
  combine(op, sources, {kDTypeOf<T>, into.data()}, static_cast<Index>(into.size()));
}

TYPED_TEST(CombineTest, EqualsTheElementwiseOperationAtEveryLength) {
  using T = TypeParam;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    for (const Index count : {0, 1, 7, 8, 31, 32, 33, 1000}) {
      std::vector<T> into = values_of<T>("into", count);
      const std::vector<T> before = into;
      const std::vector<T> from = values_of<T>("from", count);
      combine_into(op, into, from);
      for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], expected(op, before[i], from[i])) << i;
    }
  }
}

TYPED_TEST(CombineTest, TakesNullForNothing) {
  const std::array<Source, 2> nothing{{{kDTypeOf<TypeParam>, nullptr}, {kDTypeOf<TypeParam>, nullptr}}};
  combine(ReduceOp::sum, nothing, {kDTypeOf<TypeParam>, nullptr}, 0);
  combine(ReduceOp::max, nothing, {kDTypeOf<TypeParam>, nullptr}, 0);
}

template <class T>
void expect_max_keeps_nan() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<T> into(40, T(1.0F));
  std::vector<T> from(40, T(2.0F));
  into[3] = T(nan);
  from[20] = T(nan);
  combine_into(ReduceOp::max, into, from);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto value = static_cast<float>(into[i]);
    EXPECT_TRUE(i == 3 || i == 20 ? std::isnan(value) : value == 2.0F) << "element " << i << " is " << value;
  }
}

TEST(CombineNanTest, MaximumKeepsNanOfEitherSide) {
  expect_max_keeps_nan<float>();
  expect_max_keeps_nan<double>();
  expect_max_keeps_nan<BFloat16>();
}

TEST(CombineBFloat16Test, RoundsOnceToNearestEven) {
  // 1 + 2^-8 is half way between 1 and 1 + 2^-7 and rounds to the even 1. 1 + 2^-7 + 2^-8 rounds up to 1 +
  // 2^-6.
  std::vector<BFloat16> into{BFloat16(1.0F), BFloat16(1.0078125F)};
  const std::vector<BFloat16> from(2, BFloat16(0.00390625F));
  combine_into(ReduceOp::sum, into, from);
  EXPECT_EQ(static_cast<float>(into[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(into[1]), 1.015625F);
}

TEST(CombineManyTest, FoldsInTheOrderGivenAndDividesOnce) {
  // More elements than one pass combines. The order of addition of three sources shows in f32.
  constexpr Index kCount = 2500;
  const std::vector<float> a = values_of<float>("a", kCount);
  const std::vector<float> b = values_of<float>("b", kCount);
  const std::vector<float> c = values_of<float>("c", kCount);
  std::vector<float> into(kCount);
  const std::array<Source, 3> from{{{DType::f32, a.data()}, {DType::f32, b.data()}, {DType::f32, c.data()}}};
  combine(ReduceOp::avg, from, {DType::f32, into.data()}, kCount, 3);
  for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], ((a[i] + b[i]) + c[i]) / 3.0F) << i;
}

TEST(CombineManyTest, MixesBFloat16AndF32AndRoundsAtTheEnd) {
  // 1 + 2^-9 + 2^-9 is 1 + 2^-8, half way to the next bf16. Rounding at every addition gives 1, and so does
  // rounding once (ties to even). With a third term it rounds up.
  const std::vector<float> wide(5, 1.0F);
  const std::vector<BFloat16> narrow(5, BFloat16(0.001953125F));
  std::vector<BFloat16> into(5);
  const Source one{DType::f32, wide.data()};
  const Source little{DType::bf16, narrow.data()};
  const std::array<Source, 4> from{{one, little, little, little}};
  combine(ReduceOp::sum, from, {DType::bf16, into.data()}, 5);
  EXPECT_EQ(static_cast<float>(into[4]), 1.0078125F);
  std::vector<float> widened(5);
  combine(ReduceOp::sum, {&little, 1}, {DType::f32, widened.data()}, 5);
  EXPECT_EQ(widened[4], 0.001953125F);
}

TEST(CombineManyTest, RefusesAveragesOfIntegersAndOtherMixtures) {
  std::vector<std::int64_t> whole(3, 1);
  const Source integer{DType::i64, whole.data()};
  EXPECT_THROW(combine(ReduceOp::avg, {&integer, 1}, {DType::i64, whole.data()}, 3, 2), Error);
  std::vector<double> real(3, 1);
  EXPECT_THROW(combine(ReduceOp::sum, {&integer, 1}, {DType::f64, real.data()}, 3), Error);
}

TEST(CombineCostTest, CountsEveryReadAndOneWrite) {
  const Cost cost = combine_cost(2, 10, 2);
  EXPECT_EQ(cost.flops, Flops(10));
  EXPECT_EQ(cost.bytes, Bytes(60));
  EXPECT_EQ(combine_cost(5, 10, 4).flops, Flops(40));
  EXPECT_EQ(combine_cost(5, 10, 4).bytes, Bytes(240));
}

}  // namespace
}  // namespace shardline::kernels
