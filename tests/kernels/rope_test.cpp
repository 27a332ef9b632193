#include "kernels/rope.h"

#include <numeric>

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

/// Neighbouring positions, in memory that stays.
View<const std::int32_t> positions_of(Range range) {
  static const std::vector<std::int32_t> all = [] {
    std::vector<std::int32_t> values(100100);
    std::iota(values.begin(), values.end(), 0);
    return values;
  }();
  return {all.data() + range.begin, {range.size()}};
}

/// The frequency of a pair as `_compute_llama3_parameters` of Hugging Face computes it, by wavelengths.
double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2 * 3.14159265358979323846 / frequency;
  const double longest = scaling.original_positions / scaling.low_freq_factor;
  const double shortest = scaling.original_positions / scaling.high_freq_factor;
  if (wavelength < shortest) return frequency;
  if (wavelength > longest) return frequency / scaling.factor;
  const double smooth = (scaling.original_positions / wavelength - scaling.low_freq_factor) /
                        (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - smooth) * frequency / scaling.factor + smooth * frequency;
}

/// x cos(angle) + rotate_half(x) sin(angle) as in Hugging Face, for x [B, T, N, H].
template <class T>
Array<double> rope_plainly(const Array<T>& x, Index first_position, double theta,
                           const std::optional<RopeScaling>& scaling = {}) {
  Array<double> y(x.shape);
  const Index head = x.shape[3];
  for (Index i = 0; i < x.size(); ++i) {
    const Index h = i % head;
    const Index t = i / (head * x.shape[2]) % x.shape[1];
    const Index pair = h % (head / 2);
    const double plain = std::pow(theta, -2.0 * static_cast<double>(pair) / static_cast<double>(head));
    const double angle =
        static_cast<double>(first_position + t) * (scaling ? llama3_frequency(plain, *scaling) : plain);
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
    rope<T>(x.view(), {.time_dim = 1, .positions = positions_of({0, shape[1]}), .theta = 500}, y.view());
    expect_close(y, rope_plainly(x, 0, 500));
  }
}

/// That of LLaMA 3.1: 29 pairs keep their frequency, 6 get one between, 29 an eighth.
constexpr RopeScaling kLlama31{.factor = 8, .low_freq_factor = 1, .high_freq_factor = 4, .original_positions = 8192};

TYPED_TEST(RopeTest, ScalesAsLlama3Does) {
  using T = TypeParam;
  constexpr RopeScaling kSmall{.factor = 5, .low_freq_factor = 0.5, .high_freq_factor = 3, .original_positions = 40};
  for (const RopeScaling& scaling : {kLlama31, kSmall}) {
    for (const Index first : {Index{0}, Index{1000}}) {
      const auto x = random_array<T>("x", {2, 5, 3, 128});
      auto y = unwritten<T>(x.shape);
      RopeOptions options{.positions = positions_of({first, first + 5}), .theta = 500000, .scaling = scaling};
      rope<T>(x.view(), options, y.view());
      expect_close(y, rope_plainly(x, first, 500000, scaling), std::max(kTolerance<T>, 1e-12));
      options.sign = -1;
      rope<T>(std::as_const(y).view(), options, y.view());
      expect_close(y, x);
    }
  }
}

TEST(RopeFrequencyTest, KeepsInterpolatesAndDivides) {
  const std::vector<double> plain = rope_frequencies(64, 500000);
  const std::vector<double> scaled = rope_frequencies(64, 500000, kLlama31);
  int kept = 0, divided = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(scaled[i] / llama3_frequency(plain[i], kLlama31), 1, 1e-14) << i;
    kept += scaled[i] == plain[i] ? 1 : 0;
    divided += scaled[i] == plain[i] / 8 ? 1 : 0;
    EXPECT_LE(scaled[i], plain[i]);
    EXPECT_GE(scaled[i], plain[i] / 8);
  }
  EXPECT_EQ(kept, 29);
  EXPECT_EQ(divided, 29);
  EXPECT_EQ(plain[0], 1);
  EXPECT_NEAR(plain[32] * std::sqrt(500000.0), 1, 1e-14);
}

TYPED_TEST(RopeTest, TakesEmptyArrays) {
  for (const Shape& shape : {Shape{0, 4, 2, 8}, {2, 0, 2, 8}, {2, 4, 0, 8}, {2, 4, 2, 0}}) {
    rope<TypeParam>({nullptr, shape}, {.positions = positions_of({3, 3 + shape[1]})}, {nullptr, shape});
  }
}

TYPED_TEST(RopeTest, BackwardUndoesForwardInPlace) {
  using T = TypeParam;
  const auto x = random_array<T>("x", {2, 5, 2, 3, 8});
  auto y = x;
  RopeOptions options{.time_dim = 1, .positions = positions_of({100, 105})};
  rope<T>(std::as_const(y).view(), options, y.view());
  options.sign = -1;
  rope<T>(std::as_const(y).view(), options, y.view());
  expect_close(y, x);
}

TEST(RopeGradTest, EqualsFiniteDifferences) {
  auto x = random_array<double>("x", {2, 3, 2, 6});
  const auto dy = random_array<double>("dy", x.shape);
  RopeOptions options{.time_dim = 1, .positions = positions_of({4, 7})};
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
    rope<double>(x_block.view(), {.positions = positions_of(block)}, y_block.view());
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
    rope<T>(x.view(), {.positions = positions_of({1000, 1075})}, whole.view());
    for (const Range block : {Range{0, 1}, {1, 9}, {9, 24}, {24, 75}}) {
      const auto x_block = slice(x, 1, block);
      auto y_block = unwritten<T>(x_block.shape);
      rope<T>(x_block.view(), {.positions = positions_of({1000 + block.begin, 1000 + block.end})}, y_block.view());
      const auto expected = slice(whole, 1, block);
      for (Index i = 0; i < expected.size(); ++i) ASSERT_EQ(y_block[i], expected[i]) << "element " << i;
    }
  }
}

/// Any order, gaps and repeats; documents that begin anywhere. The oracle turns one token at a time.
TYPED_TEST(RopeTest, TurnsByPositionLessStart) {
  using T = TypeParam;
  const std::vector<std::int32_t> positions{70, 3, 3, 0, 5000, 17}, starts{70, 0, 2, 0, 4990, 16, 1, 3, 0, 0, 5000, 0};
  const auto x = random_array<T>("x", {2, 6, 3, 10});
  for (const bool packed : {false, true}) {
    RopeOptions options{.positions = {positions.data(), {6}}};
    if (packed) options.starts = {starts.data(), {2, 6}};
    auto y = unwritten<T>(x.shape);
    rope<T>(x.view(), options, y.view());
    for (Index b = 0; b < 2; ++b) {
      for (Index t = 0; t < 6; ++t) {
        const auto token = [&](const Array<T>& whole) { return slice(slice(whole, 0, {b, b + 1}), 1, {t, t + 1}); };
        const Index start = packed ? starts[static_cast<std::size_t>(b * 6 + t)] : 0;
        const auto expected = rope_plainly(token(x), positions[static_cast<std::size_t>(t)] - start, 10000);
        expect_close(token(y), expected, std::max(kTolerance<T>, 1e-11));
      }
    }
  }
}

/// Angles of far positions have the rounding of position times frequency in every implementation.
TYPED_TEST(RopeTest, TurnsFarPositions) {
  using T = TypeParam;
  const auto x = random_array<T>("x", {1, 40, 1, 16});
  auto y = unwritten<T>(x.shape);
  rope<T>(x.view(), {.positions = positions_of({100000, 100040})}, y.view());
  expect_close(y, rope_plainly(x, 100000, 10000), std::max(kTolerance<T>, 1e-10));
}

TEST(RopeErrorTest, RefusesWhatItCannotTurn) {
  Array<float> odd({2, 3}), even({2, 4});
  EXPECT_THROW(rope<float>(odd.view(), {.time_dim = 0, .positions = positions_of({0, 2})}, odd.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 1, .positions = positions_of({0, 2})}, even.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 0, .positions = positions_of({0, 3})}, even.view()), Error);
  EXPECT_THROW(rope<float>(even.view(), {.time_dim = 0, .positions = positions_of({0, 2}), .sign = 2}, even.view()),
               Error);
  const std::vector<std::int32_t> late{1, 3};
  const View<const std::int32_t> starts{late.data(), {1, 2}}, wrong{late.data(), {2, 1}};
  EXPECT_THROW(
      rope<float>(even.view(), {.time_dim = 0, .positions = positions_of({0, 2}), .starts = starts}, even.view()),
      Error);
  EXPECT_THROW(
      rope<float>(even.view(), {.time_dim = 0, .positions = positions_of({5, 7}), .starts = wrong}, even.view()),
      Error);
  EXPECT_THROW(rope_frequencies(2, 100, RopeScaling{.factor = 0.5}), Error);
  EXPECT_THROW(rope_frequencies(2, 100, RopeScaling{.low_freq_factor = 4, .high_freq_factor = 4}), Error);
  EXPECT_THROW(rope_frequencies(2, 100, RopeScaling{.low_freq_factor = 0}), Error);
  EXPECT_THROW(rope_frequencies(2, 100, RopeScaling{.original_positions = 0}), Error);
}

TEST(RopeCostTest, CountsAReadAndAWrite) {
  EXPECT_EQ(rope_cost(10, 4).flops, Flops(30));
  EXPECT_EQ(rope_cost(10, 4).bytes, Bytes(80));
}

}  // namespace
}  // namespace shardline::kernels
