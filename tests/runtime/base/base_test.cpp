// Element types, random numbers, units and checks.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/dtype.h"
#include "runtime/base/half.h"
#include "runtime/base/hash.h"
#include "runtime/base/nearest.h"
#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {
namespace {

float value_of(std::uint16_t bits) {
  BFloat16 x;
  x.bits = bits;
  return static_cast<float>(x);
}

TEST(BFloat16, EveryNumberComesBack) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float x = value_of(static_cast<std::uint16_t>(bits));
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(x))));
    } else {
      EXPECT_EQ(BFloat16(x).bits, bits);
    }
  }
}

/// The oracle is the definition: the nearer neighbour, or the even one if both are equally near.
TEST(BFloat16, RoundsToNearestTiesToEven) {
  const CounterRng rng(1, "bf16");
  for (Index i = 0; i < 20000; ++i) {
    const auto low =
        static_cast<std::uint16_t>(rng.below(2 * i, 0x7F7F));  // finite and positive, with a finite successor
    const double below = static_cast<double>(value_of(low));
    const double above = static_cast<double>(value_of(static_cast<std::uint16_t>(low + 1)));
    const double share = i % 3 == 0 ? 0.5 : rng.uniform(2 * i + 1);
    const auto x = static_cast<float>(below + share * (above - below));
    const double down = static_cast<double>(x) - below;
    const double up = above - static_cast<double>(x);
    const int expected = down < up ? low : down > up ? low + 1 : low + low % 2;
    EXPECT_EQ(BFloat16(x).bits, expected) << x;
    EXPECT_EQ(BFloat16(-x).bits, expected | 0x8000) << -x;
  }
}

TEST(BFloat16, OverflowGoesToInfinityAndNanStays) {
  EXPECT_EQ(static_cast<float>(BFloat16(std::numeric_limits<float>::max())), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

/// The definition of f16, by powers of two: (1 + fraction / 1024) 2^(exponent - 15); without the one, and with exponent
/// 1, below the normal numbers.
TEST(Half, EveryNumberIsConvertedExactly) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const float got = from_half(static_cast<std::uint16_t>(bits));
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    EXPECT_EQ(std::signbit(got), bits >> 15 != 0) << bits;
    if (exponent == 31 && fraction > 0) {
      EXPECT_TRUE(std::isnan(got)) << bits;
      continue;
    }
    const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                             : exponent == 0 ? std::ldexp(fraction, -24)
                                             : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(std::abs(static_cast<double>(got)), magnitude) << bits;
  }
}

/// Between two neighbours of f16 lies a number that f32 holds: it goes to the one with an even last bit, and what is
/// beside it to the nearer one. The largest f16 has 65536 for a neighbour.
TEST(Half, NumbersAreRoundedToTheNearest) {
  const auto value_of = [](int bits) {
    return bits == 0x7C00 ? 65536.0
                          : std::ldexp(bits < 1024 ? bits : 1024 + bits % 1024, std::max(bits / 1024, 1) - 25);
  };
  for (int bits = 0; bits < 0x7C00; ++bits) {
    const auto lower = static_cast<float>(value_of(bits));
    const auto middle = static_cast<float>((value_of(bits) + value_of(bits + 1)) / 2);
    const int even = bits % 2 == 0 ? bits : bits + 1;
    for (const int sign : {0, 0x8000}) {
      const auto half = [&](float magnitude) { return int{to_half(sign == 0 ? magnitude : -magnitude)}; };
      ASSERT_EQ(half(lower), sign | bits) << bits;
      ASSERT_EQ(half(middle), sign | even) << bits;
      ASSERT_EQ(half(std::nextafter(middle, 0.0F)), sign | bits) << bits;
      ASSERT_EQ(half(std::nextafter(middle, 1e9F)), sign | (bits + 1)) << bits;
    }
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_half(kInfinity), 0x7C00);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::max()), 0xFC00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_TRUE(std::isnan(from_half(to_half(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f64), 8);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(name_of(DType::bf16), "bf16");
  EXPECT_EQ(kDTypeOf<double>, DType::f64);
}

TEST(CounterRng, AnElementIsAFunctionOfSeedNameAndIndex) {
  const CounterRng rng(7, "W");
  EXPECT_EQ(rng.bits(5), CounterRng(7, "W").bits(5));
  EXPECT_NE(rng.bits(5), CounterRng(8, "W").bits(5));
  EXPECT_NE(rng.bits(5), CounterRng(7, "V").bits(5));
  EXPECT_NE(CounterRng(7, "ab").bits(0), CounterRng(7, "ba").bits(0));
  std::set<std::uint64_t> seen;
  for (Index i = 0; i < 10000; ++i) seen.insert(rng.bits(i));
  EXPECT_EQ(seen.size(), 10000U);
}

TEST(CounterRng, KeepsItsValues) {
  // Resumed runs and comparisons between machines rely on these values.
  const CounterRng rng(1, "W");
  EXPECT_EQ(rng.bits(0), 0x72CF0C6110462DBDULL);
  EXPECT_EQ(rng.bits(1), 0x11A6FB3035E02188ULL);
}

/// Raw moments 1 to 4 of 200,000 draws.
template <class Draw>
std::array<double, 4> moments(Draw draw) {
  constexpr Index kCount = 200000;
  std::array<double, 4> sums{};
  for (Index i = 0; i < kCount; ++i) {
    double power = 1;
    const double x = draw(i);
    for (double& sum : sums) sum += power *= x;
  }
  for (double& sum : sums) sum /= static_cast<double>(kCount);
  return sums;
}

TEST(CounterRng, MomentsAreThoseOfTheDistributions) {
  const CounterRng rng(3, "moments");
  const auto normal = moments([&](Index i) { return rng.normal(i); });
  EXPECT_NEAR(normal[0], 0, 0.01);
  EXPECT_NEAR(normal[1], 1, 0.02);
  EXPECT_NEAR(normal[2], 0, 0.05);
  EXPECT_NEAR(normal[3], 3, 0.1);
  const auto uniform = moments([&](Index i) { return rng.uniform(i); });
  EXPECT_NEAR(uniform[0], 1.0 / 2, 0.005);
  EXPECT_NEAR(uniform[1], 1.0 / 3, 0.005);
  EXPECT_NEAR(uniform[2], 1.0 / 4, 0.005);
  const auto neighbours = moments([&](Index i) { return rng.normal(i) * rng.normal(i + 1); });
  EXPECT_NEAR(neighbours[0], 0, 0.01);
}

TEST(CounterRng, BelowStaysBelowAndReachesAll) {
  const CounterRng rng(3, "below");
  std::array<Index, 7> counts{};
  for (Index i = 0; i < 70000; ++i) ++counts.at(static_cast<std::size_t>(rng.below(i, 7)));
  for (const Index count : counts) EXPECT_NEAR(static_cast<double>(count), 10000, 500);
  EXPECT_EQ(rng.below(0, 1), 0);
  EXPECT_THROW(static_cast<void>(rng.below(0, 0)), Error);
}

TEST(Units, Text) {
  EXPECT_EQ(to_string(Seconds(0)), "0 s");
  EXPECT_EQ(to_string(Seconds(1.5e-3)), "1.50 ms");
  EXPECT_EQ(to_string(Seconds(123.4e-6)), "123 us");
  EXPECT_EQ(to_string(Seconds(2.5e-12)), "0.00 ns");
  EXPECT_EQ(to_string(Seconds(-0.25)), "-250 ms");
  EXPECT_EQ(to_string(Bytes(12)), "12 B");
  EXPECT_EQ(to_string(Bytes(12e6)), "12.0 MB");
  EXPECT_EQ(to_string(Bytes(1500)), "1.50 kB");
  EXPECT_EQ(to_string(Flops(98.1e9)), "98.1 GFLOP");
  EXPECT_EQ(to_string(FlopsPerSecond(98.1e9)), "98.1 GFLOP/s");
  EXPECT_EQ(to_string(BytesPerSecond(1e9)), "1.00 GB/s");
  EXPECT_EQ(to_string(Seconds(std::numeric_limits<double>::infinity())), "inf s");
}

TEST(Units, DoNotRoundIntoTheNextPrefix) {
  EXPECT_EQ(to_string(Bytes(999.9e6)), "1.00 GB");
  EXPECT_EQ(to_string(Seconds(0.9996)), "1.00 s");
  EXPECT_EQ(to_string(Bytes(999.6)), "1.00 kB");
}

TEST(Units, Divide) {
  EXPECT_DOUBLE_EQ((Bytes(6) / BytesPerSecond(3)).value, 2);
  EXPECT_DOUBLE_EQ((Flops(6) / Seconds(3)).value, 2);
  EXPECT_DOUBLE_EQ(Seconds(6) / Seconds(3), 2);
  EXPECT_LT(Seconds(1) + 2.0 * Seconds(1), Seconds(3.5));
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 4}), 0);
  EXPECT_EQ(to_string(Shape{4, 8}), "[4, 8]");
  EXPECT_THROW(static_cast<void>(element_count({2, -1})), Error);
  EXPECT_THROW(static_cast<void>(element_count({Index{1} << 62, 2})), Error);
}

/// Values of the published FNV-1a test suite.
TEST(Hash, IsTheOnePublished) {
  EXPECT_EQ(hash_of(""), 0xCBF29CE484222325ULL);
  EXPECT_EQ(hash_of("a"), 0xAF63DC4C8601EC8CULL);
  EXPECT_EQ(hash_of("foobar"), 0x85944171F73967E8ULL);
}

TEST(Check, SaysTheConditionThePlaceAndTheValues) {
  const int given = 3;
  try {
    SHARDLINE_CHECK(given == 4, "given {}", given);
    FAIL() << "3 == 4";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find("given 3 (given == 4 is false at "), 0U) << message;
    EXPECT_NE(message.find("base_test.cpp:"), std::string::npos) << message;
  }
}

TEST(Nearest, FewestLettersAddedDroppedAndChangedComeFirst) {
  const std::vector<std::string> names = {"train", "trace", "plan", "place", "x"};
  EXPECT_EQ(nearest("plan", names), (std::vector<std::string>{"plan", "place", "train"}));
  EXPECT_EQ(nearest("tracer", names), (std::vector<std::string>{"trace", "train", "place"}));
  EXPECT_EQ(nearest("y", {"x"}), std::vector<std::string>{"x"});
  EXPECT_TRUE(nearest("y", {}).empty());
}

}  // namespace
}  // namespace shardline
