#include "roofline/price/gemm_rates.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

/// The time at `extent`, from the times `at(i)` at sizes[i]. Between two sizes it is on the line between them.
/// Beyond the largest it is proportional to the extent. Below the smallest it follows the line through the two
/// smallest, but it does not rise, and falls at most in proportion to the extent. With one size alone it is
/// proportional to the extent.
template <class Time>
double time_at(const std::vector<Index>& sizes, Index extent, Time at) {
  const auto size = [&](std::size_t i) { return static_cast<double>(sizes[i]); };
  const auto wanted = static_cast<double>(extent);
  const std::size_t last = sizes.size() - 1;
  if (extent >= sizes[last] || last == 0) return at(last) * wanted / size(last);
  const auto above = std::upper_bound(sizes.begin() + 1, sizes.end(), extent);
  const auto high = static_cast<std::size_t>(above - sizes.begin());
  const std::size_t low = high - 1;
  const double way = (wanted - size(low)) / (size(high) - size(low));
  const double from = at(low);
  if (way == 0) return from;
  const double time = from + way * (at(high) - from);
  return way > 0 ? time : std::clamp(time, from * wanted / size(low), from);
}

}  // namespace

GemmRates::GemmRates(std::vector<Index> sizes, std::vector<FlopsPerSecond> rates)
    : sizes_(std::move(sizes)), rates_(std::move(rates)) {
  SHARDLINE_CHECK(rates_.size() == sizes_.size() * sizes_.size() * sizes_.size(), "{} rates for {} sizes",
                  rates_.size(), sizes_.size());
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    SHARDLINE_CHECK(sizes_[i] > (i == 0 ? 0 : sizes_[i - 1]), "sizes must rise: {}", sizes_[i]);
  }
  for (const FlopsPerSecond rate : rates_) SHARDLINE_CHECK(rate.value > 0, "a rate of {}", rate.value);
}

FlopsPerSecond GemmRates::best() const { return *std::max_element(rates_.begin(), rates_.end()); }

FlopsPerSecond GemmRates::at(Index m, Index n, Index k) const {
  SHARDLINE_CHECK(!empty(), "no rates of matrix products");
  const std::size_t count = sizes_.size();
  const auto volume = [](Index a, Index b, Index c) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  };
  const double time = time_at(sizes_, m, [&](std::size_t i) {
    return time_at(sizes_, n, [&](std::size_t j) {
      return time_at(sizes_, k, [&](std::size_t l) {
        return volume(sizes_[i], sizes_[j], sizes_[l]) / rates_[(i * count + j) * count + l].value;
      });
    });
  });
  return FlopsPerSecond(volume(m, n, k) / time);
}

}  // namespace shardline::roofline
