#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardline {

/// Numbers as bytes, the lowest first.
inline std::string bytes_of(const std::vector<std::uint32_t>& numbers, int width) {
  std::string bytes;
  for (const std::uint32_t number : numbers) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>((number >> (8 * i)) & 255U);
  }
  return bytes;
}

/// The 1024 bytes with which a token file of llm.c begins.
inline std::string header_of(std::uint32_t magic, std::uint32_t version, std::uint32_t tokens) {
  std::vector<std::uint32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = tokens;
  return bytes_of(header, 4);
}

/// begin, begin + 1, ... below end.
inline std::vector<std::uint32_t> counting(std::uint32_t begin, std::uint32_t end) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = begin; number < end; ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace shardline
