#pragma once

#include <cmath>
#include <limits>

#include "tests/kernels/attention/attention_places.h"
#include "tests/kernels/support.h"

namespace shardline::kernels::testing {

/// The arrays of attention in the type T of sums, and their gradients.
template <class T>
struct AttentionResult {
  Array<T> o, lse, dq, dk, dv;
};

/// Attention and its gradient, pair by pair in f64: every pair of query and key is tested against the rule. Rows that
/// see no key get the lowest number of the type of sums of T as lse.
template <class T>
AttentionResult<double> attend_pair_by_pair(const Array<T>& q, const Array<T>& k, const Array<T>& v,
                                            const Array<T>& d_o, const Places& places) {
  const Index Q = q.shape[1], K = q.shape[2], G = q.shape[3], H = q.shape[4], S = k.shape[1];
  const auto wide = [](T value) { return static_cast<double>(static_cast<SumOf<T>>(value)); };
  const double lowest = static_cast<double>(std::numeric_limits<SumOf<T>>::lowest());
  AttentionResult<double> y{Array<double>(q.shape), Array<double>({q.shape[0], Q, K, G}, lowest),
                            Array<double>(q.shape), Array<double>(k.shape), Array<double>(k.shape)};
  const double scale = 1 / std::sqrt(static_cast<double>(H));
  std::vector<double> weights(static_cast<std::size_t>(S));
  for (Index row = 0; row < y.lse.size(); ++row) {
    const Index head = row / G % K, t = row / (G * K) % Q, b = row / (G * K * Q);
    const auto key = [&](Index s, Index h) { return ((b * S + s) * K + head) * H + h; };
    const auto dot = [&](const Array<T>& x, const Array<T>& of_keys, Index s) {
      double sum = 0;
      for (Index h = 0; h < H; ++h) sum += wide(x[row * H + h]) * wide(of_keys[key(s, h)]);
      return sum;
    };
    double sum = 0, delta = 0;
    for (Index s = 0; s < S; ++s) {
      double& weight = weights[static_cast<std::size_t>(s)];
      weight = places.sees(b, t, s) ? std::exp(scale * dot(q, k, s)) : 0;
      sum += weight;
    }
    if (sum == 0) continue;
    y.lse[row] = std::log(sum);
    for (double& weight : weights) weight /= sum;
    for (Index s = 0; s < S; ++s) {
      for (Index h = 0; h < H; ++h) y.o[row * H + h] += weights[static_cast<std::size_t>(s)] * wide(v[key(s, h)]);
    }
    for (Index h = 0; h < H; ++h) delta += y.o[row * H + h] * wide(d_o[row * H + h]);
    for (Index s = 0; s < S; ++s) {
      const double weight = weights[static_cast<std::size_t>(s)];
      const double d_score = weight == 0 ? 0 : scale * weight * (dot(d_o, v, s) - delta);
      for (Index h = 0; h < H; ++h) {
        y.dq[row * H + h] += d_score * wide(k[key(s, h)]);
        y.dk[key(s, h)] += d_score * wide(q[row * H + h]);
        y.dv[key(s, h)] += weight * wide(d_o[row * H + h]);
      }
    }
  }
  return y;
}

}  // namespace shardline::kernels::testing
