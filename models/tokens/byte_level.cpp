#include "models/tokens/byte_level.h"

#include <unordered_map>

#include "models/tokens/utf8.h"

namespace shardline {
namespace {

/// UTF-8 of a code point below U+0800.
std::string utf8_of(int code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
}

bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<std::string, 256> make_characters() {
  std::array<std::string, 256> characters;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    characters[static_cast<std::size_t>(byte)] = utf8_of(stands_for_itself(byte) ? byte : next++);
  }
  return characters;
}

std::unordered_map<std::string_view, char> make_bytes() {
  std::unordered_map<std::string_view, char> bytes;
  for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte_characters()[byte]] = static_cast<char>(byte);
  return bytes;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> characters = make_characters();
  return characters;
}

std::optional<std::string> bytes_of_characters(std::string_view written) {
  static const std::unordered_map<std::string_view, char> bytes = make_bytes();
  std::string result;
  while (!written.empty()) {
    const std::size_t length = first_character(written).length;
    const auto found = bytes.find(written.substr(0, length));
    if (found == bytes.end()) return std::nullopt;
    result += found->second;
    written.remove_prefix(length);
  }
  return result;
}

}  // namespace shardline
