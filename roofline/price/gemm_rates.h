#pragma once

#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// Rates of matrix products by their extents m, n and k, from measurements on a grid.
class GemmRates {
 public:
  GemmRates() = default;
  /// `sizes` rise and are the grid of all three extents. `rates` has one rate for every (m, n, k), k fastest.
  /// Throws Error unless there are (number of sizes)^3 rates and all numbers are positive.
  GemmRates(std::vector<Index> sizes, std::vector<FlopsPerSecond> rates);

  bool empty() const { return sizes_.empty(); }
  const std::vector<Index>& sizes() const { return sizes_; }
  const std::vector<FlopsPerSecond>& rates() const { return rates_; }
  /// The best rate of the grid.
  FlopsPerSecond best() const;
  /// The rate of a product of these extents, which must be positive. Between the sizes of the grid, the time is
  /// interpolated linearly along each extent. Above the largest size its rate holds. Below the smallest size
  /// the line through the two smallest continues. There the time is at most that of the smallest size, and at
  /// least the time at the rate of the smallest size. A single size gives its rate to all extents. Throws Error
  /// if the grid is empty.
  FlopsPerSecond at(Index m, Index n, Index k) const;
  bool operator==(const GemmRates&) const = default;

 private:
  std::vector<Index> sizes_;
  std::vector<FlopsPerSecond> rates_;
};

}  // namespace shardline::roofline
