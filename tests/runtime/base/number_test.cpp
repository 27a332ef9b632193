// Texts that are numbers and texts that are not.

#include "runtime/base/number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <regex>
#include <string>

#include "runtime/base/shape.h"

namespace shardline {
namespace {

__extension__ using Wide = __int128;

/// The value of the digits by schoolbook arithmetic, in a type larger than any of the three.
template <class Integer>
std::optional<Integer> by_digits(const std::string& text) {
  static const std::regex shape("-?[0-9]+");
  const bool negative = !text.empty() && text[0] == '-';
  if (!std::regex_match(text, shape) || (negative && std::is_unsigned_v<Integer>)) return std::nullopt;
  Wide value = 0;
  for (const char c : text.substr(negative ? 1 : 0)) value = 10 * value + (c - '0');
  if (negative) value = -value;
  if (value < std::numeric_limits<Integer>::min() || value > std::numeric_limits<Integer>::max()) return std::nullopt;
  return static_cast<Integer>(value);
}

std::optional<double> by_strtod(const std::string& text) {
  static const std::regex shape("-?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?");
  if (!std::regex_match(text, shape)) return std::nullopt;
  return std::strtod(text.c_str(), nullptr);
}

TEST(Number, IsDecimalAndNothingElse) {
  EXPECT_EQ(whole_number<Index>("0100"), 100);
  EXPECT_EQ(whole_number<Index>("08"), 8);
  EXPECT_EQ(whole_number<int>("-0007"), -7);
  for (const char* text :
       {"", "-", "0x40", "0b11", "1_000", "1,000", "1'000", "1e3", "1.0", "+1", " 1", "1 ", "1k", "--1"}) {
    EXPECT_EQ(whole_number<Index>(text), std::nullopt) << text;
    EXPECT_EQ(whole_number<std::uint64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(decimal_number("0100"), 100.0);
  EXPECT_EQ(decimal_number("-15e12"), -15e12);
  for (const char* text :
       {"", "-", ".", "0x1p3", "0x10", "nan", "inf", "-Infinity", "1e400", "+1", " 1", "1,5", "1e", "e3"}) {
    EXPECT_EQ(decimal_number(text), std::nullopt) << text;
  }
}

TEST(Number, LimitsOfEachType) {
  EXPECT_EQ(whole_number<int>("2147483647"), 2147483647);
  EXPECT_EQ(whole_number<int>("2147483648"), std::nullopt);
  EXPECT_EQ(whole_number<Index>("9223372036854775807"), std::numeric_limits<Index>::max());
  EXPECT_EQ(whole_number<Index>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(whole_number<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(whole_number<std::uint64_t>("-1"), std::nullopt);
}

TEST(Number, TextsDrawnAtRandom) {
  std::mt19937 random(7);
  const std::string letters = "00123456789-+.eE_x";
  int whole = 0;
  for (int i = 0; i < 20000; ++i) {
    // Longer texts of only digits, to cross the limits.
    const bool digits = i % 2 == 0;
    std::string text;
    for (std::size_t length = random() % (digits ? 22 : 6); text.size() < length;) {
      text += letters[random() % (digits ? 11 : letters.size())];
    }
    ASSERT_EQ(whole_number<int>(text), by_digits<int>(text)) << text;
    ASSERT_EQ(whole_number<Index>(text), by_digits<Index>(text)) << text;
    ASSERT_EQ(whole_number<std::uint64_t>(text), by_digits<std::uint64_t>(text)) << text;
    const std::optional<double> expected = by_strtod(text);
    const std::optional<double> number = decimal_number(text);
    const bool fits = expected && std::abs(*expected) <= std::numeric_limits<double>::max();
    if (fits && *expected != 0) {
      ASSERT_EQ(number, expected) << text;
    } else if (!fits) {
      ASSERT_EQ(number, std::nullopt) << text;
    }
    whole += number.has_value() ? 1 : 0;
  }
  EXPECT_GT(whole, 5000);
}

}  // namespace
}  // namespace shardline
