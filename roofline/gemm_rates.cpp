#include "roofline/gemm_rates.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

/// Where an extent lies between two sizes of the grid: at `low` + `way`.
struct Place {
  std::size_t low = 0;
  double way = 0;
};

Place place_of(const std::vector<Index>& sizes, Index extent) {
  if (extent <= sizes.front()) return {};
  if (extent >= sizes.back()) return {sizes.size() - 1, 0};
  const auto above = std::upper_bound(sizes.begin(), sizes.end(), extent);
  const auto low = static_cast<double>(*(above - 1));
  const double way = std::log(static_cast<double>(extent) / low) / std::log(static_cast<double>(*above) / low);
  return {static_cast<std::size_t>(above - sizes.begin()) - 1, way};
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
  const std::array<Place, 3> places{place_of(sizes_, m), place_of(sizes_, n), place_of(sizes_, k)};
  double time = 0;  // of one FLOP
  for (unsigned corner = 0; corner < 8; ++corner) {
    double weight = 1;
    std::size_t at = 0;
    for (std::size_t d = 0; d < places.size(); ++d) {
      const bool high = ((corner >> d) & 1U) != 0;
      weight *= high ? places[d].way : 1 - places[d].way;
      at = at * count + std::min(places[d].low + (high ? 1 : 0), count - 1);
    }
    if (weight > 0) time += weight / rates_[at].value;
  }
  double part = 1;  // of the smallest size, of extents below it
  for (const Index extent : {m, n, k}) {
    part *= std::min(1.0, static_cast<double>(extent) / static_cast<double>(sizes_.front()));
  }
  return FlopsPerSecond(part / time);
}

}  // namespace shardline::roofline
