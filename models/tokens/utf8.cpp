#include "models/tokens/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace shardline {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// What may follow a first byte: how many bytes, and the range of the first of them. The others are 80 to BF.
struct Followers {
  int count = -1;  ///< -1: no character starts with this byte
  unsigned char least = 0x80;
  unsigned char most = 0xBF;
};

Followers followers_of(unsigned char first) {
  if (first < 0x80) return {0};
  if (first < 0xC2 || first > 0xF4) return {};
  if (first < 0xE0) return {1};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};  // without surrogates
  if (first < 0xF0) return {2};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {3};
}

/// The number of ASCII bytes at the start, rounded down to whole words of eight.
std::size_t ascii_words(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & kHighBits) != 0) break;
  }
  return at;
}

/// The number of bytes before the first error.
std::size_t valid_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) at += ascii_words(text.substr(at));
    if (at == text.size()) break;
    const Utf8Step step = first_character(text.substr(at));
    if (!step.valid) break;
    at += step.length;
  }
  return at;
}

}  // namespace

Utf8Step first_character(std::string_view text) {
  Followers followers = followers_of(static_cast<unsigned char>(text[0]));
  if (followers.count < 0) return {1, false};
  std::size_t length = 1;
  for (; followers.count > 0; --followers.count, ++length) {
    if (length == text.size()) return {length, false};
    const auto next = static_cast<unsigned char>(text[length]);
    if (next < followers.least || next > followers.most) return {length, false};
    followers.least = 0x80;
    followers.most = 0xBF;
  }
  return {length, true};
}

std::size_t length_of_character_before(std::string_view valid_text, std::size_t end) {
  std::size_t length = 1;
  while (length < end && (static_cast<unsigned char>(valid_text[end - length]) & 0xC0) == 0x80) ++length;
  return length;
}

std::string_view valid_utf8(std::string_view text, std::string& repaired, OffsetMap* places) {
  const char* begin = text.data();
  std::size_t valid = valid_prefix(text);
  if (places != nullptr) places->clear();
  if (valid == text.size()) return text;
  repaired.clear();
  while (true) {
    repaired.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) return repaired;
    const auto place = static_cast<std::size_t>(text.data() - begin);
    const std::size_t length = first_character(text).length;
    if (places != nullptr) {
      places->add({{place, place + length}, {repaired.size(), repaired.size() + kReplacement.size()}});
    }
    repaired.append(kReplacement);
    text.remove_prefix(length);
    valid = valid_prefix(text);
  }
}

std::size_t without_part_of_character(std::string_view text) {
  constexpr std::size_t kMostFollowers = 3;
  for (std::size_t back = 1; back <= std::min(kMostFollowers, text.size()); ++back) {
    const std::size_t start = text.size() - back;
    if ((static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) continue;
    const Utf8Step step = first_character(text.substr(start));
    return !step.valid && step.length == back ? start : text.size();
  }
  return text.size();
}

}  // namespace shardline
