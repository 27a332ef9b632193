#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/shape.h"

namespace shardline {

/// A counter-based generator. Element i depends on (seed, name, i) only. So any rank can make any
/// element, and the values are the same on every mesh.
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, std::string_view name);

  /// 64 uniform bits for element `i`.
  std::uint64_t bits(Index i) const;
  /// Uniform in [0, 1), 53 bits.
  double uniform(Index i) const;
  /// Standard normal, by Box-Muller on two streams of element `i`.
  double normal(Index i) const;
  /// Uniform integer in [0, n); n > 0. The bias is below n / 2^64.
  Index below(Index i, Index n) const;

 private:
  std::uint64_t key_;
};

}  // namespace shardline
