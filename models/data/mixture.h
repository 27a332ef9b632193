#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/shape.h"

namespace shardline {

/// The order in which samples are taken from several sources with weights. Sample i of the mixture is a pure function
/// of the weights and i. Among the first n samples, for every n, the number of those from a source differs from n times
/// its share of the weights by less than 1.
///
/// The weights are whole numbers, so the order repeats after as many samples as they add up to. One period is a list,
/// made by the rule of Tijdeman for this problem ("The chairman assignment problem", 1980).
class Mixture {
 public:
  /// The most samples in a period.
  static constexpr Index kMostPeriod = 1'000'000;

  /// `weights` has one or more positive numbers. They may have a common divisor. Throws UsageError if the period is
  /// longer than kMostPeriod.
  explicit Mixture(std::vector<Index> weights);

  /// The weights without common divisor.
  const std::vector<Index>& weights() const { return weights_; }

  struct Place {
    std::size_t source = 0;
    Index sample = 0;  ///< how many samples of the source come before
  };
  /// Where sample `i` >= 0 comes from.
  Place at(Index i) const;

 private:
  std::vector<Index> weights_;
  Index period_ = 0;
  std::vector<std::uint32_t> sources_;  ///< of each sample of a period
  std::vector<std::uint32_t> samples_;  ///< and its number among those of the source
};

/// Whole numbers in the proportion of decimal numbers: 7 and 3 for "0.7,0.3". `option` names them in messages. Throws
/// UsageError if an item is no positive decimal number (without exponent) or has more than 6 digits after the point.
std::vector<Index> whole_weights(const std::string& text, const std::string& option);

/// Item `i` >= 0 of a series that goes through `size` items again and again: each epoch has every item once, in an
/// order of its own. The result is in [0, size) and depends on (i, size, seed, name) alone.
Index shuffled_in_epochs(Index i, Index size, std::uint64_t seed, std::string_view name);

}  // namespace shardline
