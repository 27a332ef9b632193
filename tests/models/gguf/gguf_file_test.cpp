#include "models/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "models/gguf/gguf_numbers.h"
#include "runtime/base/check.h"
#include "tests/models/gguf/gguf_reader.h"

namespace shardline {
namespace {

using namespace std::string_view_literals;

/// Every byte by the description of the format, written by hand.
TEST(GgufFile, HeadIsThatOfTheFormat) {
  const GgufMetadata metadata{{"a", std::uint32_t{258}},
                              {"bc", true},
                              {"d", 1.5F},
                              {"e", std::string("xy")},
                              {"f", std::vector<std::int32_t>{-1, 3}},
                              {"g", std::vector<std::string>{"", "q"}}};
  const std::vector<GgufTensor> tensors{{"t", GgufType::f16, {3, 5}}, {"u", GgufType::q8_0, {2, 32}}};
  std::string wanted;
  wanted += "GGUF\3\0\0\0\2\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0"sv;
  wanted += "\1\0\0\0\0\0\0\0a\4\0\0\0\2\1\0\0"sv;
  wanted += "\2\0\0\0\0\0\0\0bc\7\0\0\0\1"sv;
  wanted += "\1\0\0\0\0\0\0\0d\6\0\0\0\0\0\xC0\x3F"sv;
  wanted += "\1\0\0\0\0\0\0\0e\10\0\0\0\2\0\0\0\0\0\0\0xy"sv;
  wanted += "\1\0\0\0\0\0\0\0f\11\0\0\0\5\0\0\0\2\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\3\0\0\0"sv;
  wanted += "\1\0\0\0\0\0\0\0g\11\0\0\0\10\0\0\0\2\0\0\0\0\0\0\0"sv;
  wanted += "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0q"sv;
  wanted += "\1\0\0\0\0\0\0\0t\2\0\0\0\5\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0"sv;
  wanted += "\1\0\0\0\0\0\0\0u\2\0\0\0\40\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\10\0\0\0\40\0\0\0\0\0\0\0"sv;
  while (wanted.size() % 32 != 0) wanted += '\0';
  const GgufLayout layout = gguf_layout(metadata, tensors);
  EXPECT_EQ(layout.head, wanted);
  const auto begin = static_cast<Index>(wanted.size());
  EXPECT_EQ(layout.offsets, (std::vector<Index>{begin, begin + 32}));  // 15 elements of 2 bytes, and 2 of zero
  EXPECT_EQ(layout.bytes, begin + 32 + 96);                            // 2 blocks of 34 bytes, and 28 of zero
}

TEST(GgufFile, RefusesWhatNoReaderTakes) {
  EXPECT_THROW(gguf_layout({{"a", true}, {"a", false}}, {}), Error);
  EXPECT_THROW(gguf_layout({}, {{"t", GgufType::f32, {1}}, {"t", GgufType::f32, {2}}}), Error);
  EXPECT_THROW(gguf_layout({}, {{"t", GgufType::q8_0, {32, 31}}}), Error);
}

/// The numbers that a file has for `values`.
std::vector<double> stored(const std::vector<float>& values, GgufType type) {
  const auto bytes = gguf_elements({values.data(), {static_cast<Index>(values.size())}}, type);
  if (!bytes) return {};
  EXPECT_EQ(static_cast<Index>(bytes->size()), gguf_bytes(type, static_cast<Index>(values.size())));
  return numbers_of({.dims = {values.size()}, .type = static_cast<std::uint32_t>(type), .bytes = *bytes});
}

TEST(GgufNumbers, AreRoundedToTheNearest) {
  using Numbers = std::vector<double>;
  EXPECT_EQ(stored({1.1F, -3e38F, 1e-40F}, GgufType::f32), (Numbers{double{1.1F}, double{-3e38F}, double{1e-40F}}));
  // One more than 2048 lies between two neighbours of f16, and one more than 256 between two of bf16.
  EXPECT_EQ(stored({2049, 2051, -0.5F, 0x1p-24F, 65519}, GgufType::f16), (Numbers{2048, 2052, -0.5, 0x1p-24, 65504}));
  EXPECT_EQ(stored({257, 259, -0.5F, 1e-40F}, GgufType::bf16), (Numbers{256, 260, -0.5, std::ldexp(1, -133)}));
}

TEST(GgufNumbers, ThatAreTooLargeAreNone) {
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_TRUE(stored({1, 65520}, GgufType::f16).empty());
  EXPECT_TRUE(stored({1, -kMost}, GgufType::bf16).empty());
  std::vector<float> block(32, 1);
  block[7] = -65504.0F * 127;
  EXPECT_FALSE(stored(block, GgufType::q8_0).empty());
  block[7] = -65520.0F * 127;
  EXPECT_TRUE(stored(block, GgufType::q8_0).empty());
}

/// With a largest magnitude of 127 / 32 the factor is 1/32, and every number is a whole number of 32nds.
TEST(GgufNumbers, BlocksHaveWholeNumbersOfTheirFactor) {
  std::vector<float> values{127.0F / 32};
  std::vector<double> wanted{127.0 / 32};
  for (int i = 1; i < 32; ++i) {
    const int number = 8 * i - 128;
    const bool tie = i % 3 == 0;  // half a step more goes away from zero
    values.push_back((static_cast<float>(number) + (tie ? std::copysign(0.5F, static_cast<float>(number)) : 0.25F)) /
                     32);
    wanted.push_back((number + (tie ? std::copysign(1.0, number) : 0.0)) / 32);
  }
  values.insert(values.end(), 32, 0.0F);
  wanted.insert(wanted.end(), 32, 0.0);
  EXPECT_EQ(stored(values, GgufType::q8_0), wanted);
}

/// The definition, for blocks of any numbers: the factor is the f16 nearest to max|x| / 127, each number the nearest
/// whole number of max|x| / 127.
TEST(GgufNumbers, BlocksAreAsDefined) {
  std::uint32_t state = 1;
  for (const double scale : {1e-9, 1e-6, 3e-3, 1.0, 5e4}) {
    std::vector<float> values;
    double largest = 0;
    for (int i = 0; i < 32; ++i) {
      state = state * 1664525U + 1013904223U;
      values.push_back(static_cast<float>(scale * (static_cast<double>(state) / 0x1p31 - 1)));
      largest = std::max(largest, std::abs(static_cast<double>(values.back())));
    }
    const std::string bytes = gguf_elements({values.data(), {32}}, GgufType::q8_0).value();
    const double factor = largest / 127;
    double nearest = 0;
    for (int bits = 0; bits < 0x7C00; ++bits) {
      if (std::abs(value_of_half(bits) - factor) < std::abs(nearest - factor)) nearest = value_of_half(bits);
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    EXPECT_EQ(value_of_half(bits), nearest) << scale;
    for (std::size_t i = 0; i < 32; ++i) {
      const double steps = static_cast<double>(values[i]) / factor;
      EXPECT_LE(std::abs(steps - static_cast<signed char>(bytes[2 + i])), 0.5 + 1e-5) << scale << " " << steps;
    }
  }
  const std::string tiny = gguf_elements({std::vector<float>(32, 190e-45F).data(), {32}}, GgufType::q8_0).value();
  EXPECT_EQ(tiny, std::string(34, '\0'));
}

}  // namespace
}  // namespace shardline
