#include "runtime/base/permutation.h"

#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr Index kMostSize = Index{1} << 62;
constexpr Index kRounds = 8;  // Few bits need more rounds than the 4 of theory.

unsigned half_bits_of(Index size) {
  unsigned bits = 1;
  while ((Index{1} << (2 * bits)) < size) ++bits;
  return bits;
}

}  // namespace

Permutation::Permutation(Index size, std::uint64_t seed, std::string_view name)
    : size_(size), half_bits_(0), rng_(seed, name) {
  SHARDLINE_CHECK(size >= 1 && size <= kMostSize, "a permutation of {} numbers", size);
  half_bits_ = half_bits_of(size);
}

/// One pass of the network. Each round adds a function of one half to the other, bit by bit; so each round is a
/// bijection.
Index Permutation::once(Index x) const {
  const Index mask = (Index{1} << half_bits_) - 1;
  Index left = x >> half_bits_;
  Index right = x & mask;
  for (Index round = 0; round < kRounds; ++round) {
    const Index mixed = left ^ (static_cast<Index>(rng_.bits(right * kRounds + round) >> 1U) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

Index Permutation::at(Index i) const {
  SHARDLINE_CHECK(i >= 0 && i < size_, "place {} of {} permuted numbers", i, size_);
  // The places on a cycle of the network that are too large are passed over. The cycle comes back to i, so this ends.
  Index x = once(i);
  while (x >= size_) x = once(x);
  return x;
}

}  // namespace shardline
