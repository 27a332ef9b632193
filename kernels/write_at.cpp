#include "kernels/write_at.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::kernels {

template <class T>
void write_at(View<T> cache_BSKH, View<const T> values_BTKH, const CachePlaces& places) {
  const Shape &cache = cache_BSKH.shape, &values = values_BTKH.shape;
  SHARDLINE_CHECK(cache.size() == 4, "write_at: the cache has shape {}, not [B, S, K, H]", to_string(cache));
  SHARDLINE_CHECK(values.size() == 4, "write_at: the values have shape {}, not [B, T, K, H]", to_string(values));
  SHARDLINE_CHECK(cache[0] == values[0] && cache[2] == values[2] && cache[3] == values[3],
                  "write_at: the cache {} and the values {} differ in B, K or H", to_string(cache), to_string(values));
  const Index B = values[0], T_ = values[1], S = cache[1], row = values[2] * values[3];
  const PlaceOrder order("write_at", places, B, T_, S);
  for (Index b = 0; b < B; ++b) {
    for (Index t = 0; t < T_; ++t) {
      if (const auto place = order.place_of(b, t)) {
        std::copy_n(values_BTKH.data + (b * T_ + t) * row, row, cache_BSKH.data + (b * S + *place) * row);
      }
    }
  }
}

Cost write_at_cost(const Shape& values_BTKH, double held, Index element_size) {
  const auto bytes = static_cast<double>(element_count(values_BTKH) * element_size);
  return {Flops(0), Bytes(2 * held * bytes)};
}

#define SHARDLINE_INSTANTIATE(T) template void write_at(View<T>, View<const T>, const CachePlaces&);
SHARDLINE_INSTANTIATE(BFloat16)
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
