#include "kernels/rope.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::inner_product;
using testing::kGradientTolerance;
using testing::kTolerance;
using testing::numeric_gradient;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
class RopeTest : public ::testing::Test {};
TYPED_TEST_SUITE(RopeTest, testing::FloatTypes);

/// x cos(angle) + rotate_half(x) sin(angle) as in Hugging Face, for x [B, T, N, H].
template <class T>
Array<double> rope_plainly(const Array<T>& x, Index first_position, double theta) {
  Array<double> y(x.shape);
  const Index head = x.shape[3];
  for (Index i = 0; i < x.size(); ++i) {
    const Index h = i % head;
    const Index t = i / (head * x.shape[2]) % x.shape[1];
    const Index pair = h % (head / 2);
    const double angle = static_cast<double>(first_position + t) *
                         std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head));
    const double rotated = h < head / 2 ? -static_cast<double>(x[i + head / 2]) : static_cast<double>(x[i - head / 2]);
    y[i] = static_cast<double>(x[i]) * std::cos(angle) + rotated * std::sin(angle);
  }
  return y;
}

TYPED_TEST(RopeTest, EqualsItsDefinition) {
  using T = TypeParam;
  for (const Shape& shape : {Shape{2, 5, 3, 8}, {1, 3, 2, 64}, {2, 4, 1, 70}, {1, 1, 1, 2}}) {
    const auto x = random_array<T>("x", shape);
    auto y = unwritten<T>(shape);
    rope<T>(x.view(), {.time_dim = 1, .positions = {0, shape[1]}, .theta = 500}, y.view());
    expect_close(y, rope_plainly(x, 0, 500));
  }
}

TYPED_TEST(RopeTest, TakesEmptyArrays) {
  for (const Shape& shape : {Shape{0, 4, 2, 8}, {2, 0, 2, 8}, {2, 4, 0, 8}, {2, 4, 2, 0}}) {
    rope<TypeParam>({nullptr, shape}, {.positions = {3, 3 + shape[1]}}, {nullptr, shape});
  }
}

TYPED_TEST(RopeTest, BackwardUndoesForwardInPlace) {
  using T = TypeParam;
  const auto x = random_array<T>("x", {2, 5, 2, 3, 8});
  auto y = x;
  RopeOptions options{.time_dim = 1, .positions = {100, 105}};
  rope<T>(std::as_const(y).view(), options, y.view());
  options.sign = -1;
  rope<T>(std::as_const(y).view(), options, y.view());
  expect_close(y, x);
}

TEST(RopeGradTest, EqualsFiniteDifferences) {
  auto x = random_array<double>("x", {2, 3, 2, 6});
  const auto dy = random_array<double>("dy", x.shape);
  RopeOptions options{.time_dim = 1, .positions = {4, 7}};
  const auto loss = [&] {
    Array<double> y(x.shape);
    rope<double>(x.view(), options, y.view());
    return inner_product(y, dy);
  };
  const auto expected = numeric_gradient(x, loss);
  auto dx = unwritten<double>(x.shape);
  options.sign = -1;
  rope<double>(dy.view(), options, dx.view());
  expect_close(dx, expected, kGradientTolerance);
}

TEST(RopeSplitTest, BlocksOfTheSequenceGiveTheWhole) {
  const auto x = random_array<double>("x", {2, 7, 2, 6});
  const auto whole = rope_plainly(x, 0, 10000);
  for (const Range block : {Range{0, 3}, {3, 3}, {3, 7}}) {
    const auto x_block = slice(x, 1, block);
    auto y_block = unwritten<double>(x_block.shape);
    rope<double>(x_block.view(), {.positions = block}, y_block.view());
    expect_close(y_block, slice(whole, 1, block));
  }
}

/// A position turns by the same bits for any begin of its block. So ranks that split the sequence agree with
/// one rank.
TYPED_TEST(RopeTest, TurnsAPositionAlikeInEveryBlock) {
  using T = TypeParam;
  for (const Index width : {6, 64}) {
    const auto x = random_array<T>("x", {2, 75, 2, width});
    auto whole = unwritten<T>(x.shape);
    rope<T>(x.view(), {.positions = {1000, 1075}}, whole.view());
    for (const Range block : {Range{0, 1}, {1, 9}, {9, 24}, {24, 75}}) {
      const auto x_block = slice(x, 1, block);
      auto y_block = unwritten<T>(x_block.shape);
      rope<T>(x_block.view(), {.positions = {1000 + block.begin, 1000 + block.end}}, y_block.view());
      const auto expected = slice(whole, 1, block);
      for (Index i = 0; i < expected.size(); ++i) ASSERT_EQ(y_block[i], expected[i]) << "element " << i;
    }
  }
}

/// Angles of far positions have the rounding of position times frequency in every implementation.
TYPED_TEST(RopeTest, TurnsFarPositions) {
  using T = TypeParam;
  const auto x = random_array<T>("x", {1, 40, 1, 16});
  auto y = unwritten<T>(x.shape);
  rope<T>(x.view(), {.positions = {100000, 100040}}, y.view());
  expect_close(y, rope_plainly(x, 100000, 10000), std::max(kTolerance<T>, 1e-10));
}

TEST(RopeErrorTest, RefusesWhatItCannotTurn) {
  Array<float> odd({2, 3}), even({2, 4});
  EXPECT_THROW(rope<float>(odd.view(), {.time_dim = 0, .positions = {0, 2}}, odd.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 1, .positions = {0, 2}}, even.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 0, .positions = {0, 3}}, even.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 0, .positions = {0, 2}, .sign = 2}, even.view()), Error);
}

TEST(RopeCostTest, CountsAReadAndAWrite) {
  EXPECT_EQ(rope_cost(10, 4).flops, Flops(30));
  EXPECT_EQ(rope_cost(10, 4).bytes, Bytes(80));
}

}  // namespace
}  // namespace shardline::kernels
