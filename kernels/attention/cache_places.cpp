#include "kernels/attention/cache_places.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// Without a branch, so that compilers vectorise the loop.
bool ascends(const View<const std::int32_t>& values) {
  int falls = 0;
  for (Index i = 1; i < values.size(); ++i) falls |= static_cast<int>(values.data[i] < values.data[i - 1]);
  return falls == 0;
}

}  // namespace

PlaceOrder::PlaceOrder(const char* kernel, const CachePlaces& places, Index B, Index T, Index S)
    : at_BT_(places.at_BT), ascending_(places.where_S) {
  SHARDLINE_CHECK(at_BT_.shape == Shape({B, T}), "{}: the positions of queries have shape {}, not {}", kernel,
                  to_string(at_BT_.shape), to_string(Shape{B, T}));
  SHARDLINE_CHECK(ascending_.shape == Shape({S}), "{}: the positions of places have shape {}, not {}", kernel,
                  to_string(ascending_.shape), to_string(Shape{S}));
  if (ascends(ascending_)) return;
  order_.resize(static_cast<std::size_t>(S));
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](Index a, Index b) { return ascending_[a] < ascending_[b]; });
  for (const Index place : order_) positions_.push_back(ascending_[place]);
  ascending_.data = positions_.data();
}

Index PlaceOrder::seen(Index b, Index t) const {
  const std::int32_t position = at(b, t);
  if (position < 0) return 0;
  return std::upper_bound(ascending_.begin(), ascending_.end(), position) - ascending_.begin();
}

std::optional<Index> PlaceOrder::place_of(Index b, Index t) const {
  const std::int32_t position = at(b, t);
  const auto* const found = std::lower_bound(ascending_.begin(), ascending_.end(), position);
  if (position < 0 || found == ascending_.end() || *found != position) return std::nullopt;
  return place(found - ascending_.begin());
}

}  // namespace shardline::kernels
