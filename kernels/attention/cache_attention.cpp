#include "kernels/attention/cache_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace shardline::kernels {

template <class T>
void cache_scores(View<const T> q, View<const T> k, const CachePlaces& places, View<SumOf<T>> s, View<SumOf<T>> max) {
  using U = SumOf<T>;
  const Index B = q.shape[0], M = q.shape[1], K = q.shape[2], G = q.shape[3], H = q.shape[4], S = k.shape[1];
  const U scale = 1 / std::sqrt(static_cast<U>(H));
  for (Index b = 0; b < B; ++b)
    for (Index t = 0; t < M; ++t)
      for (Index h = 0; h < K; ++h)
        for (Index g = 0; g < G; ++g) {
          const Index row = ((b * M + t) * K + h) * G + g;
          U most = std::numeric_limits<U>::lowest();
          for (Index p = 0; p < S; ++p) {
            if (places.where_S[p] > places.at_BT[b * M + t]) continue;
            U sum = 0;
            for (Index i = 0; i < H; ++i)
              sum += static_cast<U>(q.data[row * H + i]) * static_cast<U>(k.data[((b * S + p) * K + h) * H + i]);
            s.data[row * S + p] = sum * scale;
            most = std::max(most, sum * scale);
          }
          max.data[row] = most;
        }
}

template <class T>
void cache_weigh(View<const SumOf<T>> s, View<const T> v, View<const SumOf<T>> max, const CachePlaces& places,
                 View<SumOf<T>> w, View<SumOf<T>> sum) {
  using U = SumOf<T>;
  const Index B = w.shape[0], M = w.shape[1], K = w.shape[2], G = w.shape[3], H = w.shape[4], S = v.shape[1];
  for (Index b = 0; b < B; ++b)
    for (Index t = 0; t < M; ++t)
      for (Index h = 0; h < K; ++h)
        for (Index g = 0; g < G; ++g) {
          const Index row = ((b * M + t) * K + h) * G + g;
          std::fill_n(w.data + row * H, H, U(0));
          U total = 0;
          for (Index p = 0; p < S; ++p) {
            if (places.where_S[p] > places.at_BT[b * M + t]) continue;
            const U e = std::exp(s.data[row * S + p] - max.data[row]);
            total += e;
            for (Index i = 0; i < H; ++i)
              w.data[row * H + i] += e * static_cast<U>(v.data[((b * S + p) * K + h) * H + i]);
          }
          sum.data[row] = total;
        }
}

template <class T>
void cache_divide(View<const SumOf<T>> w, View<const SumOf<T>> sum, View<T> o) {
  const Index H = w.shape[4];
  for (Index i = 0; i < w.size(); ++i) {
    const SumOf<T> total = sum.data[i / H];
    o.data[i] = static_cast<T>(total > 0 ? w.data[i] / total : SumOf<T>(0));
  }
}

template <class T>
void cache_attention(View<const T> q, View<const T> k, View<const T> v, const CachePlaces& places, View<T> o) {
  using U = SumOf<T>;
  const Index rows = q.size() / q.shape[4];
  std::vector<U> s(static_cast<std::size_t>(rows * k.shape[1])), max(static_cast<std::size_t>(rows)), sum(max),
      w(static_cast<std::size_t>(q.size()));
  Shape scores(q.shape.begin(), q.shape.end() - 1);
  const Shape lead = scores;
  scores.push_back(k.shape[1]);
  cache_scores<T>(q, k, places, View<U>{s.data(), scores}, View<U>{max.data(), lead});
  cache_weigh<T>(View<const U>{s.data(), scores}, v, View<const U>{max.data(), lead}, places,
                 View<U>{w.data(), q.shape}, View<U>{sum.data(), lead});
  cache_divide<T>(View<const U>{w.data(), q.shape}, View<const U>{sum.data(), lead}, o);
}

Cost cache_attention_cost(const Shape& q, const Shape& k, double seen, Index element_size) {
  const auto queries = static_cast<double>(element_count(q));
  const auto cached = static_cast<double>(element_count(k));
  return {Flops(4 * queries * static_cast<double>(k[1]) * seen),
          Bytes(static_cast<double>(element_size) * (2 * queries + 2 * cached * seen)),
          static_cast<double>(q[0] * q[2])};
}

Cost cache_scores_cost(const Shape& rows, const Shape& k, double seen, Index element_size) {
  const auto pairs = static_cast<double>(rows[0] * rows[1] * rows[2] * rows[3] * k[1]) * seen;
  const auto cached = static_cast<double>(element_count(k)) * seen;
  return {
      Flops(2 * pairs * static_cast<double>(k[3])),
      Bytes(static_cast<double>(element_size) * cached + pairs * static_cast<double>(std::max<Index>(4, element_size))),
      static_cast<double>(rows[0] * rows[2])};
}

Cost cache_divide_cost(Index count, Index sum_size, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(elements), Bytes(elements * static_cast<double>(sum_size + element_size))};
}

#define SHARDLINE_CACHE(T)                                                                                      \
  template void cache_attention(View<const T>, View<const T>, View<const T>, const CachePlaces&, View<T>);      \
  template void cache_scores(View<const T>, View<const T>, const CachePlaces&, View<SumOf<T>>, View<SumOf<T>>); \
  template void cache_weigh(View<const SumOf<T>>, View<const T>, View<const SumOf<T>>, const CachePlaces&,      \
                            View<SumOf<T>>, View<SumOf<T>>);                                                    \
  template void cache_divide(View<const SumOf<T>>, View<const SumOf<T>>, View<T>);
SHARDLINE_CACHE(float)
SHARDLINE_CACHE(double)
SHARDLINE_CACHE(BFloat16)

}  // namespace shardline::kernels
