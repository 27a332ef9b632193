#pragma once

#include <string_view>

#include "runtime/base/counter_rng.h"
#include "runtime/base/shape.h"

namespace shardline {

/// A permutation of 0 .. size-1 that looks random and is computed for each place, without a list: a Feistel network
/// permutes the numbers below a power of 4, and is applied again as long as the result is `size` or more. It depends on
/// (size, seed, name) alone.
class Permutation {
 public:
  /// `size` is at least 1 and at most 2^62.
  Permutation(Index size, std::uint64_t seed, std::string_view name);

  Index size() const { return size_; }
  /// The number at place `i` in [0, size). The mean time does not depend on the size: less than 4 passes.
  Index at(Index i) const;

 private:
  Index once(Index x) const;

  Index size_;
  unsigned half_bits_;  ///< the network permutes numbers of twice as many bits
  CounterRng rng_;
};

}  // namespace shardline
