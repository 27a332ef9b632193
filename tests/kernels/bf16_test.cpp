// Kernels on arrays stored in bf16 against the same kernels in f64 on the same elements: the sums are in f32, and each
// result is rounded once.

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/adamw.h"
#include "kernels/bias.h"
#include "kernels/cross_entropy.h"
#include "kernels/einsum/einsum.h"
#include "kernels/elementwise.h"
#include "kernels/embedding.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/squared_error.h"
#include "kernels/support/lanes.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

constexpr double kRounding = 1.0 / 256;  // of a result in bf16, relative
constexpr double kNoise = 2e-5;          // of computing in f32, relative to the largest element

/// An array whose elements bf16 holds, in three types.
struct Stored {
  Shape shape;
  std::vector<BFloat16> narrow;
  std::vector<double> wide;

  Stored(std::string_view name, Shape s) : shape(std::move(s)) {
    const CounterRng rng(7, name);
    for (Index i = 0; i < element_count(shape); ++i) {
      narrow.emplace_back(static_cast<float>(rng.normal(i)));
      wide.push_back(static_cast<double>(static_cast<float>(narrow.back())));
    }
  }
  View<const BFloat16> bf16() const { return {narrow.data(), shape}; }
  View<const double> f64() const { return {wide.data(), shape}; }
};

/// An array of f32 elements, also in f64.
struct Exact {
  Shape shape;
  std::vector<float> narrow;
  std::vector<double> wide;

  Exact(std::string_view name, Shape s, double least = 0) : shape(std::move(s)) {
    const CounterRng rng(7, name);
    for (Index i = 0; i < element_count(shape); ++i) {
      narrow.push_back(static_cast<float>(least + std::abs(rng.normal(i))));
      wide.push_back(static_cast<double>(narrow.back()));
    }
  }
  View<const float> f32() const { return {narrow.data(), shape}; }
  View<const double> f64() const { return {wide.data(), shape}; }
};

/// A result in its own type and in f64.
template <class T>
struct Result {
  Shape shape;
  std::vector<T> values;
  std::vector<double> expected;

  explicit Result(Shape s)
      : shape(std::move(s)),
        values(static_cast<std::size_t>(element_count(shape)), T(std::numeric_limits<float>::quiet_NaN())),
        expected(values.size()) {}
  View<T> mine() { return {values.data(), shape}; }
  View<double> f64() { return {expected.data(), shape}; }

  void expect_close() const {
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double allowed = kNoise * largest + (std::is_same_v<T, BFloat16> ? kRounding * std::abs(expected[i]) : 0);
      ASSERT_NEAR(static_cast<double>(static_cast<float>(values[i])), expected[i], allowed) << "element " << i;
    }
  }
};

/// The nearest number of bf16, ties to even, found by its two neighbours in f64.
float nearest_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto low = std::bit_cast<float>(bits & 0xFFFF0000U);
  const auto high = std::bit_cast<float>((bits & 0xFFFF0000U) + 0x10000U);
  if (low == value) return value;
  // Beyond the largest number stands the power of two that would follow.
  const double above = std::isinf(high) ? std::copysign(std::ldexp(1.0, 128), value) : static_cast<double>(high);
  const double to_low = std::abs(static_cast<double>(value) - static_cast<double>(low));
  const double to_high = std::abs(above - static_cast<double>(value));
  if (to_low != to_high) return to_low < to_high ? low : high;
  return (bits & 0x10000U) == 0 ? low : high;
}

TEST(BFloat16Lanes, AllNumbersComeBack) {
  std::vector<BFloat16> all(65536), back(65536);
  for (std::uint32_t i = 0; i < 65536; ++i) all[i].bits = static_cast<std::uint16_t>(i);
  for_lanes(65536,
            [&](Index begin, auto count) { store(load(all.data() + begin, count), back.data() + begin, count); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_nan = (all[i].bits & 0x7F80U) == 0x7F80U && (all[i].bits & 0x7FU) != 0;
    ASSERT_EQ(back[i].bits, is_nan ? all[i].bits | 0x40U : all[i].bits) << i;
  }
}

TEST(BFloat16Lanes, RoundToNearestInEveryPlace) {
  constexpr Index kCount = 5 * kLanes + 7;  // a partial piece at the end
  const CounterRng rng(3, "bits");
  for (Index trial = 0; trial < 2000; ++trial) {
    std::vector<float> from;
    for (Index i = 0; i < kCount; ++i) {
      auto bits = static_cast<std::uint32_t>(rng.bits(trial * kCount + i));
      if (i % 5 == 0) bits = (bits & 0xFFFF0000U) | 0x8000U;       // ties
      if (i % 7 == 0) bits = (bits & 0x80FFFFFFU) | 0x7F000000U;   // large, infinity, NaN
      if (i % 11 == 0) bits = (bits & 0x8000FFFFU) | 0x7F800000U;  // NaN in the low half alone
      from.push_back(std::bit_cast<float>(bits));
    }
    std::vector<BFloat16> to(kCount);
    for_lanes(kCount,
              [&](Index begin, auto count) { store(load(from.data() + begin, count), to.data() + begin, count); });
    for (std::size_t i = 0; i < from.size(); ++i) {
      ASSERT_EQ(to[i], BFloat16(from[i])) << from[i];
      if (std::isnan(from[i])) {
        ASSERT_TRUE(std::isnan(static_cast<float>(to[i])));
      } else {
        ASSERT_EQ(static_cast<float>(to[i]), nearest_bf16(from[i])) << from[i];
      }
    }
  }
}

TEST(BFloat16Kernels, Norm) {
  for (const Index width : {1, 5, 32, 100}) {
    const Stored x("x", {3, width}), dy("dy", {3, width});
    const Exact w("w", {width});
    Result<float> ss({3}), dot({3}), dw({width});
    Result<BFloat16> y({3, width}), dx({3, width});
    const NormOptions options{width, 1e-5};
    sum_squares_rows(x.bf16(), ss.mine());
    sum_squares_rows(x.f64(), ss.f64());
    normalize<BFloat16>(x.bf16(), ss.mine(), w.f32(), options, y.mine());
    normalize<double>(x.f64(), ss.f64(), w.f64(), options, y.f64());
    norm_dot<BFloat16>(dy.bf16(), w.f32(), x.bf16(), dot.mine());
    norm_dot<double>(dy.f64(), w.f64(), x.f64(), dot.f64());
    norm_grad<BFloat16>(dy.bf16(), x.bf16(), ss.mine(), w.f32(), dot.mine(), options, dx.mine(), dw.mine());
    norm_grad<double>(dy.f64(), x.f64(), ss.f64(), w.f64(), dot.f64(), options, dx.f64(), dw.f64());
    for (const auto* sums : {&ss, &dot, &dw}) sums->expect_close();
    for (const auto* stored : {&y, &dx}) stored->expect_close();
  }
}

TEST(BFloat16Kernels, CrossEntropy) {
  const Stored logits("logits", {4, 70});
  const std::vector<std::int32_t> labels{3, 69, 100, 0};
  const View<const std::int32_t> ids{labels.data(), {4}};
  const Exact dloss("dloss", {});
  Result<float> max({4}), sum({4}), picked({4});
  Result<BFloat16> dlogits({4, 70});
  const Range vocabulary{0, 70};
  row_max(logits.bf16(), max.mine());
  row_max(logits.f64(), max.f64());
  sum_exp<BFloat16>(logits.bf16(), max.mine(), sum.mine());
  sum_exp<double>(logits.f64(), max.f64(), sum.f64());
  pick(logits.bf16(), ids, vocabulary, picked.mine());
  pick(logits.f64(), ids, vocabulary, picked.f64());
  cross_entropy_grad<BFloat16>(logits.bf16(), ids, max.mine(), sum.mine(), dloss.f32(), vocabulary, 0.25,
                               dlogits.mine());
  cross_entropy_grad<double>(logits.f64(), ids, max.f64(), sum.f64(), dloss.f64(), vocabulary, 0.25, dlogits.f64());
  for (const auto* sums : {&max, &sum, &picked}) sums->expect_close();
  dlogits.expect_close();
}

/// Many tokens of one row: each added in bf16 would be lost.
TEST(BFloat16Kernels, Embedding) {
  const Stored table("table", {5, 33}), dx("dx", {600, 33});
  std::vector<std::int32_t> tokens;
  for (int t = 0; t < 600; ++t) tokens.push_back(t % 3 == 0 ? 9 : 4 + t % 2);
  const View<const std::int32_t> ids{tokens.data(), {600}};
  Result<BFloat16> out({600, 33}), dtable({5, 33});
  const Range rows{3, 8};
  embed(table.bf16(), ids, rows, out.mine());
  embed(table.f64(), ids, rows, out.f64());
  embed_grad(dx.bf16(), ids, rows, dtable.mine());
  embed_grad(dx.f64(), ids, rows, dtable.f64());
  out.expect_close();
  dtable.expect_close();
}

TEST(BFloat16Kernels, Elementwise) {
  const Stored a("a", {77}), b("b", {77}), c("c", {77});
  Result<BFloat16> sum({77}), d_out({77});
  Result<float> loss({}), squares({});
  const std::vector<View<const BFloat16>> terms{a.bf16(), b.bf16(), c.bf16()};
  const std::vector<View<const double>> wide{a.f64(), b.f64(), c.f64()};
  add<BFloat16>(terms, sum.mine());
  add<double>(wide, sum.f64());
  squared_error(a.bf16(), b.bf16(), 0.1, loss.mine());
  squared_error(a.f64(), b.f64(), 0.1, loss.f64());
  squared_error_grad(a.bf16(), b.bf16(), 1.5, 0.1, d_out.mine());
  squared_error_grad(a.f64(), b.f64(), 1.5, 0.1, d_out.f64());
  sum_squares(a.bf16(), squares.mine());
  sum_squares(a.f64(), squares.f64());
  for (const auto* stored : {&sum, &d_out}) stored->expect_close();
  for (const auto* sums : {&loss, &squares}) sums->expect_close();
}

TEST(BFloat16Kernels, Bias) {
  const Stored x("x", {2, 50, 3, 11});
  const Stored b("b", {3, 11});
  Result<BFloat16> y(x.shape);
  Result<BFloat16> db(b.shape);
  add_bias(x.bf16(), b.bf16(), y.mine());
  add_bias(x.f64(), b.f64(), y.f64());
  bias_grad(x.bf16(), db.mine());
  bias_grad(x.f64(), db.f64());
  y.expect_close();
  db.expect_close();
}

TEST(BFloat16Kernels, Rope) {
  const Stored x("x", {2, 5, 3, 10});
  Result<BFloat16> y({2, 5, 3, 10});
  const std::vector<std::int32_t> positions{20, 21, 22, 23, 24};
  for (const bool scaled : {false, true}) {
    RopeOptions options{.time_dim = 1, .positions = {positions.data(), {5}}};
    if (scaled) options.scaling = RopeScaling{.factor = 8, .original_positions = 100};
    rope(x.bf16(), options, y.mine());
    rope(x.f64(), options, y.f64());
    y.expect_close();
  }
}

/// An einsum of `operands`, with index letters, into a result of type R; `window` as in einsum().
template <class R>
void check_einsum(const std::vector<std::string>& operands, const std::string& out,
                  const std::optional<Window>& window = {}) {
  const auto extent = [](char letter) { return Index{2} + (letter * 7) % 5; };
  const auto shape_of = [&](const std::string& letters) {
    Shape shape;
    for (const char letter : letters) shape.push_back(extent(letter));
    return shape;
  };
  const auto subscripts_of = [](const std::string& letters) { return Subscripts(letters.begin(), letters.end()); };
  std::vector<Stored> arrays;
  arrays.reserve(operands.size());
  for (const std::string& letters : operands) arrays.emplace_back(letters, shape_of(letters));
  std::vector<EinsumOperand<BFloat16>> narrow;
  std::vector<EinsumOperand<double>> wide;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    narrow.push_back({arrays[k].bf16(), subscripts_of(operands[k])});
    wide.push_back({arrays[k].f64(), subscripts_of(operands[k])});
  }
  Result<R> result(shape_of(out));
  std::fill(result.values.begin(), result.values.end(), R(0.5F));
  std::fill(result.expected.begin(), result.expected.end(), 0.5);
  einsum<BFloat16>(narrow, result.mine(), subscripts_of(out), window);
  einsum<double>(wide, result.f64(), subscripts_of(out), window);
  SCOPED_TRACE(out);
  result.expect_close();
}

TEST(BFloat16Kernels, Einsum) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> formulas = {
      {{"ab", "bc"}, "ac"},       {{"abc", "cde"}, "abde"}, {{"abc", "abde"}, "cde"}, {{"abe", "fbe"}, "baf"},
      {{"ab", "cb"}, "ca"},       {{"abc", "bcd"}, "ad"},   {{"acb", "bcd"}, "ad"},   {{"abz", "bc"}, "ac"},
      {{"ab", "bc", "cd"}, "ad"}, {{"ab", "b"}, "ab"},      {{"ab", "ab"}, "a"},      {{"ab", "ab"}, ""},
      {{"abc"}, "cab"},           {{"abc"}, "b"},           {{"ab", "b", "ab"}, "a"}, {{"abc", "abd"}, "acd"}};
  for (const auto& [operands, out] : formulas) {
    check_einsum<BFloat16>(operands, out);
    check_einsum<float>(operands, out);
    for (const char letter : operands[0]) {
      check_einsum<BFloat16>(operands, out, Window{letter, {1, 2}});
      check_einsum<float>(operands, out, Window{letter, {1, 2}, out.find(letter) == std::string::npos});
    }
  }
}

TEST(BFloat16Kernels, AResultInBf16IsNotAccumulated) {
  EXPECT_ANY_THROW(check_einsum<BFloat16>({"ab", "bc"}, "ac", Window{'b', {0, 1}, true}));
}

}  // namespace
}  // namespace shardline::kernels
