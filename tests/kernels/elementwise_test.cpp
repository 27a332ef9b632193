#include "kernels/elementwise.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::random_array;
using testing::unwritten;

template <class T>
class ElementwiseTest : public ::testing::Test {};
TYPED_TEST_SUITE(ElementwiseTest, testing::FloatTypes);

const std::vector<Index> kCounts{0, 1, 7, 31, 32, 33, 64, 200};

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

TYPED_TEST(ElementwiseTest, Fills) {
  auto out = unwritten<TypeParam>({4, 5});
  fill<TypeParam>(out.view(), TypeParam(3));
  for (const TypeParam value : out.values) EXPECT_EQ(value, TypeParam(3));
  fill<TypeParam>({nullptr, {0}}, TypeParam(1));
}

TEST(ElementwiseErrorTest, RefusesArraysOfOtherSizes) {
  Array<float> a({4});
  Array<float> b({5});
  const std::vector<View<const float>> terms{std::as_const(a).view(), std::as_const(b).view()};
  EXPECT_THROW(add<float>(terms, a.view()), Error);
  EXPECT_THROW(add<float>({}, a.view()), Error);
}

TEST(ElementwiseCostTest, CountsEveryArrayOnce) {
  EXPECT_EQ(add_cost(3, 10, 4).flops, Flops(20));
  EXPECT_EQ(add_cost(3, 10, 4).bytes, Bytes(160));
  EXPECT_EQ(fill_cost(10, 8).bytes, Bytes(80));
}

}  // namespace
}  // namespace shardline::kernels
