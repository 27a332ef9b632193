#pragma once

#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// What a matrix product reaches, by its extents m, n and k, from measurements on a grid.
class GemmRates {
 public:
  GemmRates() = default;
  /// `sizes` rise and serve for all three extents; `rates` are those of every (m, n, k) of them, k fastest. Throws
  /// Error when their number is not the cube of the number of sizes, or anything is not positive.
  GemmRates(std::vector<Index> sizes, std::vector<FlopsPerSecond> rates);

  bool empty() const { return sizes_.empty(); }
  const std::vector<Index>& sizes() const { return sizes_; }
  const std::vector<FlopsPerSecond>& rates() const { return rates_; }
  /// The best rate of the grid.
  FlopsPerSecond best() const;
  /// The rate of a product of these extents, which are positive. Its time lies on the line between those of the
  /// neighbours along each extent, as a fixed part and one that grows with the extent make it. Beyond the largest size
  /// the rate there holds. Below the smallest the line through the two smallest goes on, as far as the time stays
  /// between what the rate of the smallest gives and its time; with one size its rate holds. Throws Error when the grid
  /// is empty.
  FlopsPerSecond at(Index m, Index n, Index k) const;
  bool operator==(const GemmRates&) const = default;

 private:
  std::vector<Index> sizes_;
  std::vector<FlopsPerSecond> rates_;
};

}  // namespace shardline::roofline
