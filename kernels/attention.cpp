#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// Queries and keys of a block: the scores of a block stay in the second-level cache, and few of those on the diagonal
/// are computed in vain. Rows of scores are whole pieces of lanes.
constexpr Index kQueryBlock = 128;
constexpr Index kKeyBlock = 64;
static_assert(kKeyBlock % kLanes == 0);

/// The extents of a call, and how far apart the positions of one head lie.
struct Heads {
  Index B, T, S, K, G, H;
  AttentionOptions options;

  Index query_stride() const { return K * G * H; }
  Index key_stride() const { return K * H; }
  Index query_rows() const { return B * T * K * G; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(H)); }

  /// Keys that query `t` sees: the first so many.
  Index visible(Index t) const { return std::clamp<Index>(options.query_begin + t + 1 - options.key_begin, 0, S); }
  /// Of the keys from `s` on, at most `count`, those that query `t` sees.
  Index visible(Index t, Index s, Index count) const { return std::clamp<Index>(visible(t) - s, 0, count); }
  /// The first query that sees key `s`.
  Index first_seeing(Index s) const { return std::clamp<Index>(options.key_begin + s - options.query_begin, 0, T); }
};

Heads check_heads(const Shape& q, const Shape& k, const AttentionOptions& options) {
  SHARDLINE_CHECK(q.size() == 5, "attention: q has shape {}, not [B, T, K, G, H]", to_string(q));
  SHARDLINE_CHECK(k.size() == 4, "attention: k has shape {}, not [B, S, K, H]", to_string(k));
  SHARDLINE_CHECK(q[0] == k[0] && q[2] == k[2] && q[4] == k[3], "attention: q {} and k {} differ in B, K or H",
                  to_string(q), to_string(k));
  return {q[0], q[1], k[1], q[2], q[3], q[4], options};
}

void check_shape(const char* name, const Shape& shape, const Shape& expected) {
  SHARDLINE_CHECK(shape == expected, "attention: {} has shape {}, not {}", name, to_string(shape), to_string(expected));
}

void check_lse(const Shape& lse, const Heads& heads) { check_shape("lse", lse, {heads.B, heads.T, heads.K, heads.G}); }

/// Where one query head and its key-value head begin in the arrays.
struct HeadOffsets {
  Index query;  ///< in [B, T, K, G, H]
  Index key;    ///< in [B, S, K, H]
  Index row;    ///< in [B, T, K, G]; the rows of the head lie K G apart
};

template <class Body>
void for_each_head(const Heads& heads, Body&& body) {
  for (Index b = 0; b < heads.B; ++b) {
    for (Index k = 0; k < heads.K; ++k) {
      for (Index g = 0; g < heads.G; ++g) {
        const Index row = (b * heads.T * heads.K + k) * heads.G + g;
        body(HeadOffsets{row * heads.H, (b * heads.S * heads.K + k) * heads.H, row});
      }
    }
  }
}

/// Buffers of the forward pass for one block of queries.
template <class T>
struct QueryBlock {
  explicit QueryBlock(Index width)
      : scores(kQueryBlock * kKeyBlock),
        output(static_cast<std::size_t>(kQueryBlock * width)),
        largest(kQueryBlock),
        sum(kQueryBlock) {}

  std::vector<T> scores;   ///< [queries, kKeyBlock]
  std::vector<T> output;   ///< [queries, H], not divided by `sum` yet
  std::vector<T> largest;  ///< the largest score of each row so far
  std::vector<T> sum;      ///< of exp(score - largest)

  void reset() {
    std::fill(output.begin(), output.end(), T(0));
    std::fill(largest.begin(), largest.end(), std::numeric_limits<T>::lowest());
    std::fill(sum.begin(), sum.end(), T(0));
  }
};

/// Fills a row of scores up to a whole piece of lanes with scores that add nothing, and gives the padded length.
template <class T>
Index pad_row(T* scores, Index visible) {
  const Index padded = (visible + kLanes - 1) / kLanes * kLanes;
  std::fill(scores + visible, scores + padded, std::numeric_limits<T>::lowest());
  return padded;
}

/// Turns row `r` of the scores, of which the first `visible` of `keys` count, into exp(score - largest), and brings
/// what the row has summed so far to the new largest score.
template <class T>
void soften_row(QueryBlock<T>& block, Index r, Index visible, Index keys, Index width) {
  T* scores = block.scores.data() + r * kKeyBlock;
  const auto row = static_cast<std::size_t>(r);
  const Index padded = pad_row(scores, visible);
  const T largest = max_lanes(scores, padded, block.largest[row]);
  const T shrink = std::exp(block.largest[row] - largest);
  const T sum = sum_lanes<T>(padded, [&](Index begin, auto count) -> Lanes<T> {
    const Lanes<T> weight = (load(scores + begin, count) - largest).exp();
    store(weight, scores + begin, count);
    return weight;
  });
  std::fill(scores + visible, scores + keys, T(0));
  block.sum[row] = block.sum[row] * shrink + sum;
  block.largest[row] = largest;
  T* output = block.output.data() + r * width;
  for (Index h = 0; h < width; ++h) output[h] *= shrink;
}

/// Writes the finished rows of a block of queries.
template <class T>
void finish_block(const QueryBlock<T>& block, Index queries, const Heads& heads, T* o, T* lse) {
  for (Index r = 0; r < queries; ++r) {
    const auto row = static_cast<std::size_t>(r);
    const T sum = block.sum[row];
    const T* output = block.output.data() + r * heads.H;
    T* target = o + r * heads.query_stride();
    const bool seen = sum != T(0);
    for (Index h = 0; h < heads.H; ++h) target[h] = seen ? output[h] / sum : T(0);
    lse[r * heads.K * heads.G] = seen ? block.largest[row] + std::log(sum) : std::numeric_limits<T>::lowest();
  }
}

/// One head of one sequence in the forward pass; the pointers are to its first elements.
template <class T>
struct Head {
  const T *q, *k, *v;
  T *o, *lse;
};

/// Adds one block of keys to a block of queries; only rows that see some of the keys are touched.
template <class T>
void attend_block(const Heads& heads, const Head<T>& head, Range queries, Range keys, QueryBlock<T>& block) {
  const Index first = std::max(queries.begin, heads.first_seeing(keys.begin));
  const Index rows = queries.end - first, skipped = first - queries.begin;
  const Index query_stride = heads.query_stride(), key_stride = heads.key_stride();
  T* scores = block.scores.data() + skipped * kKeyBlock;
  const GemmShape to_scores{Transpose::no, Transpose::yes, rows,       keys.size(),
                            heads.H,       query_stride,   key_stride, kKeyBlock};
  gemm<T>(to_scores, static_cast<T>(heads.scale()), head.q + first * query_stride, head.k + keys.begin * key_stride,
          T(0), scores);
  for (Index t = first; t < queries.end; ++t) {
    soften_row(block, t - queries.begin, heads.visible(t, keys.begin, keys.size()), keys.size(), heads.H);
  }
  const GemmShape to_output{Transpose::no, Transpose::no, rows, heads.H, keys.size(), kKeyBlock, key_stride, heads.H};
  gemm<T>(to_output, T(1), scores, head.v + keys.begin * key_stride, T(1), block.output.data() + skipped * heads.H);
}

template <class T>
void attend_head(const Heads& heads, const Head<T>& head, QueryBlock<T>& block) {
  for (Index t = 0; t < heads.T; t += kQueryBlock) {
    const Range queries{t, std::min(heads.T, t + kQueryBlock)};
    const Index visible = heads.visible(queries.end - 1);
    block.reset();
    for (Index s = 0; s < visible; s += kKeyBlock) {
      attend_block(heads, head, queries, {s, std::min(visible, s + kKeyBlock)}, block);
    }
    finish_block(block, queries.size(), heads, head.o + t * heads.query_stride(), head.lse + t * heads.K * heads.G);
  }
}

/// One head of one sequence in the backward pass; the pointers are to its first elements.
template <class T>
struct HeadGrad {
  const T *q, *k, *v, *o, *lse, *d_o;
  T *dq, *dk, *dv;
};

/// Buffers of the backward pass.
template <class T>
struct GradBlock {
  std::vector<T> weights = std::vector<T>(kQueryBlock * kKeyBlock);    ///< the probabilities [queries, kKeyBlock]
  std::vector<T> d_weights = std::vector<T>(kQueryBlock * kKeyBlock);  ///< their gradients, then those of the scores
  std::vector<T> delta;  ///< sum over H of do o, for every query of the head
};

template <class T>
void sum_deltas(const Heads& heads, const HeadGrad<T>& head, std::vector<T>& delta) {
  delta.resize(static_cast<std::size_t>(heads.T));
  for (Index t = 0; t < heads.T; ++t) {
    const T* o = head.o + t * heads.query_stride();
    const T* d_o = head.d_o + t * heads.query_stride();
    delta[static_cast<std::size_t>(t)] = sum_lanes<T>(heads.H, [&](Index begin, auto count) -> Lanes<T> {
      return load(o + begin, count) * load(d_o + begin, count);
    });
  }
}

/// From scores and gradients of the probabilities to probabilities and gradients of the unscaled scores, row by row.
template <class T>
void soften_grad(const Heads& heads, const HeadGrad<T>& head, Range queries, Range keys, GradBlock<T>& block) {
  for (Index t = queries.begin; t < queries.end; ++t) {
    T* weights = block.weights.data() + (t - queries.begin) * kKeyBlock;
    T* d_weights = block.d_weights.data() + (t - queries.begin) * kKeyBlock;
    const Index visible = heads.visible(t, keys.begin, keys.size());
    const T lse = head.lse[t * heads.K * heads.G];
    const T delta = block.delta[static_cast<std::size_t>(t)];
    for_lanes(pad_row(weights, visible), [&](Index begin, auto count) {
      const Lanes<T> weight = (load(weights + begin, count) - lse).exp();
      store(weight, weights + begin, count);
      store<T>(weight * (load<T>(d_weights + begin, count) - delta), d_weights + begin, count);
    });
    std::fill(weights + visible, weights + keys.size(), T(0));
    std::fill(d_weights + visible, d_weights + keys.size(), T(0));
  }
}

/// Adds what one block of queries and keys gives to the three gradients.
template <class T>
void add_block_grad(const Heads& heads, const HeadGrad<T>& head, Range queries, Range keys, GradBlock<T>& block) {
  const Index t = queries.size(), s = keys.size(), h = heads.H;
  const Index query_stride = heads.query_stride(), key_stride = heads.key_stride();
  const Index query_offset = queries.begin * query_stride, key_offset = keys.begin * key_stride;
  const T scale = static_cast<T>(heads.scale());
  T* weights = block.weights.data();
  T* d_weights = block.d_weights.data();
  const GemmShape to_scores{Transpose::no, Transpose::yes, t, s, h, query_stride, key_stride, kKeyBlock};
  gemm<T>(to_scores, scale, head.q + query_offset, head.k + key_offset, T(0), weights);
  gemm<T>(to_scores, T(1), head.d_o + query_offset, head.v + key_offset, T(0), d_weights);
  soften_grad(heads, head, queries, keys, block);
  const GemmShape to_keys{Transpose::yes, Transpose::no, s, h, t, kKeyBlock, query_stride, key_stride};
  gemm<T>(to_keys, T(1), weights, head.d_o + query_offset, T(1), head.dv + key_offset);
  gemm<T>(to_keys, scale, d_weights, head.q + query_offset, T(1), head.dk + key_offset);
  const GemmShape to_queries{Transpose::no, Transpose::no, t, h, s, kKeyBlock, key_stride, query_stride};
  gemm<T>(to_queries, scale, d_weights, head.k + key_offset, T(1), head.dq + query_offset);
}

template <class T>
void attend_head_grad(const Heads& heads, const HeadGrad<T>& head, GradBlock<T>& block) {
  sum_deltas(heads, head, block.delta);
  for (Index s = 0; s < heads.S; s += kKeyBlock) {
    for (Index t = heads.first_seeing(s); t < heads.T; t += kQueryBlock) {
      const Range queries{t, std::min(heads.T, t + kQueryBlock)};
      const Range keys{s, std::min(heads.visible(queries.end - 1), s + kKeyBlock)};
      add_block_grad(heads, head, queries, keys, block);
    }
  }
}

/// Visible pairs of query and key over all query heads.
double visible_pairs(const Heads& heads) {
  double pairs = 0;
  for (Index t = 0; t < heads.T; ++t) pairs += static_cast<double>(heads.visible(t));
  return pairs * static_cast<double>(heads.B * heads.K * heads.G);
}

Cost attention_cost_of(const Heads& heads, double products, Index query_arrays, Index key_arrays, Index element_size) {
  const Index query_count = heads.query_rows() * heads.H;
  const Index key_count = heads.B * heads.S * heads.K * heads.H;
  const Index stored = query_arrays * query_count + key_arrays * key_count + heads.query_rows();
  return {Flops(2 * products * visible_pairs(heads) * static_cast<double>(heads.H)),
          Bytes(static_cast<double>(stored * element_size))};
}

}  // namespace

template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionOptions& options,
               View<T> o_BTKGH, View<T> lse_BTKG) {
  const Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, options);
  check_shape("v", v_BSKH.shape, k_BSKH.shape);
  check_shape("o", o_BTKGH.shape, q_BTKGH.shape);
  check_lse(lse_BTKG.shape, heads);
  if (heads.S == 0) {
    std::fill_n(o_BTKGH.data, o_BTKGH.size(), T(0));
    std::fill_n(lse_BTKG.data, lse_BTKG.size(), std::numeric_limits<T>::lowest());
    return;
  }
  if (heads.T == 0) return;
  QueryBlock<T> block(heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const Head<T> head{q_BTKGH.data + at.query, k_BSKH.data + at.key, v_BSKH.data + at.key, o_BTKGH.data + at.query,
                       lse_BTKG.data + at.row};
    attend_head(heads, head, block);
  });
}

template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const T> lse_BTKG, View<const T> do_BTKGH, const AttentionOptions& options, View<T> dq_BTKGH,
                    View<T> dk_BSKH, View<T> dv_BSKH) {
  const Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, options);
  check_shape("v", v_BSKH.shape, k_BSKH.shape);
  check_shape("o", o_BTKGH.shape, q_BTKGH.shape);
  check_lse(lse_BTKG.shape, heads);
  check_shape("do", do_BTKGH.shape, q_BTKGH.shape);
  check_shape("dq", dq_BTKGH.shape, q_BTKGH.shape);
  check_shape("dk", dk_BSKH.shape, k_BSKH.shape);
  check_shape("dv", dv_BSKH.shape, k_BSKH.shape);
  std::fill_n(dq_BTKGH.data, dq_BTKGH.size(), T(0));
  std::fill_n(dk_BSKH.data, dk_BSKH.size(), T(0));
  std::fill_n(dv_BSKH.data, dv_BSKH.size(), T(0));
  if (heads.T == 0 || heads.S == 0) return;
  GradBlock<T> block;
  for_each_head(heads, [&](const HeadOffsets& at) {
    const HeadGrad<T> head{q_BTKGH.data + at.query,  k_BSKH.data + at.key,   v_BSKH.data + at.key,
                           o_BTKGH.data + at.query,  lse_BTKG.data + at.row, do_BTKGH.data + at.query,
                           dq_BTKGH.data + at.query, dk_BSKH.data + at.key,  dv_BSKH.data + at.key};
    attend_head_grad(heads, head, block);
  });
}

Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options, Index element_size) {
  return attention_cost_of(check_heads(q_BTKGH, k_BSKH, options), 2, 2, 2, element_size);
}

Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options,
                         Index element_size) {
  return attention_cost_of(check_heads(q_BTKGH, k_BSKH, options), 5, 4, 4, element_size);
}

#define SHARDLINE_INSTANTIATE(T)                                                                                   \
  template void attention(View<const T>, View<const T>, View<const T>, const AttentionOptions&, View<T>, View<T>); \
  template void attention_grad(View<const T>, View<const T>, View<const T>, View<const T>, View<const T>,          \
                               View<const T>, const AttentionOptions&, View<T>, View<T>, View<T>);
SHARDLINE_INSTANTIATE(float)
SHARDLINE_INSTANTIATE(double)

}  // namespace shardline::kernels
