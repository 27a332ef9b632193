#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {

/// The middle value, or the mean of the two middle values. Throws Error if there are no values.
template <class T>
T median(std::vector<T> values) {
  SHARDLINE_CHECK(!values.empty(), "no median of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) * 0.5;
}

/// The smallest value v such that at least the share `q` of the values are <= v (nearest rank); 0 <
/// q <= 1. Throws Error if there are no values.
template <class T>
T quantile(std::vector<T> values, double q) {
  SHARDLINE_CHECK(!values.empty() && q > 0 && q <= 1, "no quantile {} of {} values", q, values.size());
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size()) - 1e-9));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace shardline
