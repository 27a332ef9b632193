#include "runtime/base/counter_rng.h"

#include <cmath>
#include <numbers>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// The finaliser of SplitMix64: a bijection. Every output bit depends on all input bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

double to_unit(std::uint64_t bits) { return static_cast<double>(bits >> 11U) * 0x1.0p-53; }

}  // namespace

CounterRng::CounterRng(std::uint64_t seed, std::string_view name) : key_(mix(seed)) {
  for (const char c : name) key_ = mix(key_ ^ static_cast<unsigned char>(c));
}

std::uint64_t CounterRng::bits(Index i) const { return mix(key_ + mix(static_cast<std::uint64_t>(i))); }

double CounterRng::uniform(Index i) const { return to_unit(bits(i)); }

double CounterRng::normal(Index i) const {
  const std::uint64_t first = bits(i);
  const double u = 1.0 - to_unit(first);  // in (0, 1]
  const double v = to_unit(mix(first ^ key_));
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

Index CounterRng::below(Index i, Index n) const {
  SHARDLINE_CHECK(n > 0, "below needs a positive bound, was given {}", n);
  __extension__ using Wide = unsigned __int128;
  return static_cast<Index>((static_cast<Wide>(bits(i)) * static_cast<std::uint64_t>(n)) >> 64U);
}

}  // namespace shardline
