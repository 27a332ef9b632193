#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {

/// The middle value, or the mean of the two in the middle. Throws Error when there are none.
template <class T>
T median(std::vector<T> values) {
  SHARDLINE_CHECK(!values.empty(), "no median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) * 0.5;
}

/// The smallest value that at least the share `q` of the values, above 0 and at most 1, does not exceed (nearest rank).
/// Throws Error when there are no values.
template <class T>
T quantile(std::vector<T> values, double q) {
  SHARDLINE_CHECK(!values.empty() && q > 0 && q <= 1, "no quantile {} of {} values", q, values.size());
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()) - 1e-9));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace shardline
