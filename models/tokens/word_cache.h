#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace shardline {

/// Remembers the ids of short words. It takes 4 MiB at most: each word has one place, and a new word there replaces
/// the old one.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 24;  ///< bytes
  static constexpr std::size_t kMostIds = 9;

  /// A word as the cache compares it. Made only for words of at most kLongestWord bytes.
  struct Key {
    std::array<std::uint64_t, kLongestWord / 8> bytes{};
    std::uint8_t length = 0;
  };
  static Key key_of(std::string_view word) {
    Key key;
    std::memcpy(key.bytes.data(), word.data(), word.size());
    key.length = static_cast<std::uint8_t>(word.size());
    return key;
  }

  /// The ids of a word. Empty if they are not known; a word has at least one id.
  std::span<const std::int32_t> find(const Key& key) const {
    const Place& place = places_[place_of(key)];
    if (place.bytes != key.bytes || place.length != key.length) return {};
    return {place.ids.data(), place.count};
  }

  /// Remembers a word. Does nothing for more than kMostIds ids.
  void keep(const Key& key, std::span<const std::int32_t> ids) {
    if (ids.size() > kMostIds) return;
    Place& place = places_[place_of(key)];
    place.bytes = key.bytes;
    place.length = key.length;
    place.count = static_cast<std::uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), place.ids.begin());
  }

 private:
  struct alignas(64) Place {  // one line of the processor's cache
    std::array<std::uint64_t, kLongestWord / 8> bytes{};
    std::array<std::int32_t, kMostIds> ids{};
    std::uint8_t length = 0;
    std::uint8_t count = 0;
  };
  static constexpr int kPlacesLog2 = 16;

  static std::size_t place_of(const Key& key) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio
    std::uint64_t hash = key.length;
    for (const std::uint64_t bytes : key.bytes) {
      hash = (hash ^ bytes) * kOdd;
      hash ^= hash >> 32U;
    }
    return (hash * kOdd) >> (64 - kPlacesLog2);
  }

  std::vector<Place> places_ = std::vector<Place>(std::size_t{1} << kPlacesLog2);
};

}  // namespace shardline
