#include "kernels/write_at.h"

#include <algorithm>

namespace shardline::kernels {

template <class T>
void write_at(View<T> cache, View<const T> values, const CachePlaces& places) {
  const Index B = values.shape[0], M = values.shape[1], S = cache.shape[1], row = cache.shape[2] * cache.shape[3];
  for (Index b = 0; b < B; ++b)
    for (Index t = 0; t < M; ++t)
      for (Index p = 0; p < S; ++p) {
        const std::int32_t at = places.at_BT[b * M + t];
        if (at >= 0 && places.where_S[p] == at)
          std::copy_n(values.data + (b * M + t) * row, row, cache.data + (b * S + p) * row);
      }
}

Cost write_at_cost(Index count, Index element_size) {
  return {Flops(0), Bytes(2 * static_cast<double>(count) * static_cast<double>(element_size))};
}

template void write_at(View<float>, View<const float>, const CachePlaces&);
template void write_at(View<double>, View<const double>, const CachePlaces&);
template void write_at(View<BFloat16>, View<const BFloat16>, const CachePlaces&);

}  // namespace shardline::kernels
