#pragma once

#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline::roofline {

/// Rates of matrix products by their extents m, n and k, from measurements on a grid.
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
  /// The rate of a product of these extents, which must be positive. Between the sizes of the grid, the time is
  /// interpolated linearly along each extent. Beyond the largest size its rate holds. Below the smallest size the line
  /// through the two smallest is continued; the time stays between that of the smallest size and what the rate of the
  /// smallest size gives. With one size, its rate holds. Throws Error when the grid is empty.
  FlopsPerSecond at(Index m, Index n, Index k) const;
  bool operator==(const GemmRates&) const = default;

 private:
  std::vector<Index> sizes_;
  std::vector<FlopsPerSecond> rates_;
};

}  // namespace shardline::roofline
