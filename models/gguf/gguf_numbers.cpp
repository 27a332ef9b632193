#include "models/gguf/gguf_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/dtype.h"
#include "runtime/base/half.h"

namespace shardline {
namespace {

bool is_infinite(std::uint16_t half) { return (half & 0x7FFFU) == 0x7C00U; }
bool is_infinite(BFloat16 number) { return (number.bits & 0x7FFFU) == 0x7F80U; }

/// Each value by itself, by round(value).
template <class Word, class Round>
std::optional<std::string> rounded(View<const float> values, Round round) {
  std::vector<Word> words;
  words.reserve(static_cast<std::size_t>(values.size()));
  for (const float value : values) {
    words.push_back(round(value));
    if (is_infinite(words.back())) return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word));
}

/// One block of q8_0 as it lies in a file.
struct QuantizedBlock {
  std::uint16_t factor;
  std::array<std::int8_t, 32> numbers;
};
static_assert(sizeof(QuantizedBlock) == 34, "a block has no gaps");

QuantizedBlock block_of(const float* values) {
  QuantizedBlock block{};
  float largest = 0;
  for (std::size_t i = 0; i < block.numbers.size(); ++i) largest = std::max(largest, std::abs(values[i]));
  const float factor = largest / 127.0F;
  // Below the normal numbers of f32 the factor is 0 in f16, whatever the whole numbers are.
  const float inverse = factor < std::numeric_limits<float>::min() ? 0 : 1.0F / factor;
  block.factor = to_half(factor);
  for (std::size_t i = 0; i < block.numbers.size(); ++i) {
    block.numbers[i] = static_cast<std::int8_t>(std::round(values[i] * inverse));
  }
  return block;
}

std::optional<std::string> in_blocks(View<const float> values) {
  const Index elements = block_elements(GgufType::q8_0);
  SHARDLINE_CHECK(values.size() % elements == 0, "{} values are no blocks of {}", values.size(), elements);
  std::vector<QuantizedBlock> blocks;
  blocks.reserve(static_cast<std::size_t>(values.size() / elements));
  for (Index begin = 0; begin < values.size(); begin += elements) {
    blocks.push_back(block_of(values.data + begin));
    if (is_infinite(blocks.back().factor)) return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(blocks.data()), blocks.size() * sizeof(QuantizedBlock));
}

}  // namespace

std::optional<std::string> gguf_elements(View<const float> values, GgufType type) {
  switch (type) {
    case GgufType::f32:
      return std::string(reinterpret_cast<const char*>(values.data), static_cast<std::size_t>(values.size()) * 4);
    case GgufType::f16:
      return rounded<std::uint16_t>(values, to_half);
    case GgufType::bf16:
      return rounded<BFloat16>(values, [](float value) { return BFloat16(value); });
    case GgufType::q8_0:
      return in_blocks(values);
  }
  throw Error("no such element type");
}

}  // namespace shardline
