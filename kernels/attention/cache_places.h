#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/view.h"

namespace shardline::kernels {

/// Positions of queries and of the places of a cache. A query sees a place if where <= at. at = -1: there is no token.
struct CachePlaces {
  View<const std::int32_t> at_BT;
  View<const std::int32_t> where_S;
};

/// The places of a cache by number, in ascending order of their positions. So a query sees the first places, whatever
/// their order in the cache. If they lie in this order, nothing is sorted or copied.
class PlaceOrder {
 public:
  /// Throws Error unless at is [B, T] and where is [S]. `kernel` names the caller in the message.
  PlaceOrder(const char* kernel, const CachePlaces& places, Index B, Index T, Index S);
  PlaceOrder(const PlaceOrder&) = delete;
  PlaceOrder& operator=(const PlaceOrder&) = delete;
  ~PlaceOrder() = default;

  /// Where a place lies along S.
  Index place(Index number) const { return order_.empty() ? number : order_[static_cast<std::size_t>(number)]; }
  /// True if place(number) == number.
  bool in_order() const { return order_.empty(); }
  /// How many places query `t` of sequence `b` sees: those with the numbers from 0 on. 0 if there is no token.
  Index seen(Index b, Index t) const;
  /// The place for the token of query `t` of sequence `b`; nothing if there is no token, or no place for it here.
  std::optional<Index> place_of(Index b, Index t) const;

 private:
  std::int32_t at(Index b, Index t) const { return at_BT_[b * at_BT_.shape[1] + t]; }

  View<const std::int32_t> at_BT_;
  View<const std::int32_t> ascending_;   ///< positions by number
  std::vector<Index> order_;             ///< empty if the places lie in order
  std::vector<std::int32_t> positions_;  ///< what `ascending_` shows if they do not
};

}  // namespace shardline::kernels
