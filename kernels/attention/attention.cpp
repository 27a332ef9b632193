#include "kernels/attention/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/blocks.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

void check_queries_and_keys(const Shape& q, const Shape& k) {
  SHARDLINE_CHECK(q.size() == 5, "attention: q has shape {}, not [B, T, K, G, H]", to_string(q));
  SHARDLINE_CHECK(k.size() == 4, "attention: k has shape {}, not [B, S, K, H]", to_string(k));
  SHARDLINE_CHECK(q[0] == k[0] && q[2] == k[2] && q[4] == k[3], "attention: q {} and k {} differ in B, K or H",
                  to_string(q), to_string(k));
}

}  // namespace

Heads check_heads(const Shape& q, const Shape& k, const AttentionPlaces& places) {
  check_queries_and_keys(q, k);
  return {q[0], q[1], k[1], q[2], q[3], q[4], Sight(places, q[0], q[1], k[1])};
}

void check_attention_shape(const char* name, const Shape& shape, const Shape& expected) {
  SHARDLINE_CHECK(shape == expected, "attention: {} has shape {}, not {}", name, to_string(shape), to_string(expected));
}

void check_forward(const Heads& heads, const Shape& q, const Shape& k, const Shape& v, const Shape& o,
                   const Shape& lse) {
  check_attention_shape("v", v, k);
  check_attention_shape("o", o, q);
  check_attention_shape("lse", lse, {heads.B, heads.T, heads.K, heads.G});
}

namespace {

/// One key-value head of one sequence in the forward pass. The pointers are to its first elements.
template <class S>
struct Head {
  const S *q, *k, *v;
};

/// Buffers of the forward pass for one block of rows and one of keys.
template <class T>
struct RowBlock {
  explicit RowBlock(Index width)
      : q(zero_block<T>(kRowBlock, width)),
        output(q),
        keys(zero_block<T>(width, kKeyBlock)),
        values(zero_block<T>(kKeyBlock, width)),
        scores(zero_block<T>(kTileRows, kKeyBlock)) {}

  Block<T> q;                        ///< [rows, H], scaled
  Block<T> output;                   ///< [rows, H], not yet divided by `sum`
  Block<T> keys;                     ///< [H, keys]
  Block<T> values;                   ///< [keys, H]
  Block<T> scores;                   ///< [a tile of rows, keys]
  std::array<T, kRowBlock> largest;  ///< the largest score of each row so far
  std::array<T, kRowBlock> sum;      ///< of exp(score - largest)

  Index width() const { return q.cols(); }

  void reset() {
    output.setZero();
    largest.fill(std::numeric_limits<T>::lowest());
    sum.fill(T(0));
  }
};

/// Widens the part `seen` of a row of scores to whole pieces of kLanes, with scores whose exponential is 0. Returns the
/// wider part.
template <class T>
Range pad_row(T* scores, Range seen) {
  const Range padded{seen.begin / kLanes * kLanes, (seen.end + kLanes - 1) / kLanes * kLanes};
  std::fill(scores + padded.begin, scores + seen.begin, std::numeric_limits<T>::lowest());
  std::fill(scores + seen.end, scores + padded.end, std::numeric_limits<T>::lowest());
  return padded;
}

/// The larger of `start` and the first `count` scores; `count` is a multiple of kLanes. A NaN score
/// may get lost here, but its weight is still NaN.
template <class T>
T largest_score(const T* scores, Index count, T start) {
  if (count == 0) return start;
  Lanes<T> lanes = load(scores, FullCount());
  for (Index s = kLanes; s < count; s += kLanes) lanes = lanes.max(load(scores + s, FullCount()));
  return std::max(start, lanes.maxCoeff());
}

/// Turns `count` scores (a multiple of kLanes) into exp(score - largest). Returns their sum.
template <class T>
T weigh_scores(T* scores, Index count, T largest) {
  const auto weigh = [&](Index s) -> Lanes<T> {
    Lanes<T> weight = exp_lanes<T>(load(scores + s, FullCount()) - largest);
    store(weight, scores + s, FullCount());
    return weight;
  };
  if (count == 0) return T(0);
  Lanes<T> sum = weigh(0);
  for (Index s = kLanes; s < count; s += kLanes) sum += weigh(s);
  return sum.sum();
}

/// Turns the scores of the tile of rows at `r` into exp(score - largest), and scales the sums so
/// far to the new maxima. All maxima come first, so they do not wait for the exponentials of other
/// rows. Weights in `window` of keys that a row does not see are 0.
template <class T>
void soften_tile(const Heads& heads, Range rows, Range keys, Range window, Index r, RowBlock<T>& block) {
  std::array<Range, kTileRows> padded;
  std::array<T, kTileRows> largest;
  const Index count = std::min(kTileRows, rows.size() - r);
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    T* scores = block.scores.data() + i * kKeyDistance<T>;
    const Range seen = heads.seen(rows.begin + r + i, keys);
    padded[row] = seen.size() == 0 ? Range{window.begin, window.begin} : pad_row(scores, seen);
    largest[row] =
        largest_score(scores + padded[row].begin, padded[row].size(), block.largest[static_cast<std::size_t>(r + i)]);
    std::fill(scores + window.begin, scores + padded[row].begin, T(0));
    std::fill(scores + padded[row].end, scores + std::max(padded[row].end, window.end), T(0));
  }
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    T &former = block.largest[static_cast<std::size_t>(r + i)], &sum = block.sum[static_cast<std::size_t>(r + i)];
    const T shrink = vector_exp(former - largest[row]);
    T* scores = block.scores.data() + i * kKeyDistance<T> + padded[row].begin;
    sum = sum * shrink + weigh_scores(scores, padded[row].size(), largest[row]);
    former = largest[row];
    if (shrink != T(1)) block.output.row(r + i) *= shrink;
  }
}

/// Adds one block of keys to a block of rows, one tile of rows at a time. Skips tiles that see none
/// of the keys.
template <class T>
void attend_block(const Heads& heads, Range rows, Range keys, RowBlock<T>& block) {
  for (Index r = 0; r < rows.size(); r += kTileRows) {
    const Range seen = heads.seen(Range{rows.begin + r, rows.begin + std::min(r + kTileRows, rows.size())}, keys);
    if (seen.size() == 0) continue;
    const Range window = window_of(seen);
    T* scores = block.scores.data();
    multiply_keys(heads, row_of(block.q, r), block.width(), block.keys, window, scores);
    soften_tile(heads, rows, keys, window, r, block);
    multiply_tiles<TileResult::add, T>({.depth = window.size(),
                                        .columns = heads.H,
                                        .a = scores + window.begin,
                                        .a_row = kKeyDistance<T>,
                                        .b = row_of(block.values, window.begin),
                                        .b_row = block.width(),
                                        .c = row_of(block.output, r),
                                        .c_row = block.width()});
  }
}

/// Divides the weighted values of a row by the sum of its weights, and gives its lse.
template <class S, class T>
T finish_row(const T* output, Index width, T largest, T sum, S* o) {
  const bool seen = sum != T(0);
  for (Index h = 0; h < width; ++h) o[h] = static_cast<S>(seen ? output[h] / sum : T(0));
  return seen ? largest + std::log(sum) : std::numeric_limits<T>::lowest();
}

/// The rows of a head that meet all keys at once: results.
template <class S>
struct WholeRows {
  using T = SumOf<S>;
  static constexpr bool kKeepUnseeing = false;
  S* o;
  T* lse;

  void begin(const Heads& /*heads*/, Range /*rows*/, RowBlock<T>& block) const { block.reset(); }

  void end(const Heads& heads, Range rows, const RowBlock<T>& block) const {
    for (Index r = 0; r < rows.size(); ++r) {
      const auto row = static_cast<std::size_t>(r);
      const Index place = heads.row_place(rows.begin + r);
      lse[place] =
          finish_row(row_of(block.output, r), heads.H, block.largest[row], block.sum[row], o + place * heads.H);
    }
  }
};

/// The rows of a head that meet more keys: a part of an AttentionState.
template <class T>
struct StateRows {
  static constexpr bool kKeepUnseeing = true;
  T *o, *largest, *sum;

  void begin(const Heads& heads, Range rows, RowBlock<T>& block) const {
    for (Index r = 0; r < rows.size(); ++r) {
      const Index place = heads.row_place(rows.begin + r);
      std::copy_n(o + place * heads.H, heads.H, row_of(block.output, r));
      block.largest[static_cast<std::size_t>(r)] = largest[place];
      block.sum[static_cast<std::size_t>(r)] = sum[place];
    }
  }

  void end(const Heads& heads, Range rows, const RowBlock<T>& block) const {
    for (Index r = 0; r < rows.size(); ++r) {
      const Index place = heads.row_place(rows.begin + r);
      std::copy_n(row_of(block.output, r), heads.H, o + place * heads.H);
      largest[place] = block.largest[static_cast<std::size_t>(r)];
      sum[place] = block.sum[static_cast<std::size_t>(r)];
    }
  }
};

/// `all` takes blocks of rows from their begin and to their end.
template <class S, class T, class Rows>
void attend_head(const Heads& heads, const Head<S>& head, const Rows& all, RowBlock<T>& block) {
  for (Index r = 0; r < heads.head_rows(); r += kRowBlock) {
    const Range rows{r, std::min(heads.head_rows(), r + kRowBlock)};
    const Range seen = heads.seen(rows, {0, heads.S});
    if (Rows::kKeepUnseeing && seen.size() == 0) continue;
    take_rows(heads, head.q, rows, static_cast<T>(heads.scale()), block.q);
    all.begin(heads, rows, block);
    for (Index s = seen.begin / kKeyBlock * kKeyBlock; s < seen.end; s += kKeyBlock) {
      const Range keys{s, std::min(seen.end, s + kKeyBlock)};
      take_keys_transposed(heads, head.k, keys, block.keys);
      take_keys(heads, head.v, keys, block.values);
      attend_block(heads, rows, keys, block);
    }
    all.end(heads, rows, block);
  }
}

template <class T>
void check_state(const AttentionState<T>& state) {
  const Shape& o = state.o_BTKGH.shape;
  SHARDLINE_CHECK(o.size() == 5, "attention: o of a state has shape {}, not [B, T, K, G, H]", to_string(o));
  const Shape rows(o.begin(), o.end() - 1);
  check_attention_shape("largest", state.largest_BTKG.shape, rows);
  check_attention_shape("sum", state.sum_BTKG.shape, rows);
}

/// Visible pairs of query and key over all query heads.
double visible_pairs(const Shape& q, const Shape& k, const AttentionShare& share) {
  if (share.tokens == 0) return 0;
  const auto queries = static_cast<double>(q[1]), all = static_cast<double>(share.tokens);
  const double of_query = share.balanced ? (all + 1) / 2 : all - (queries - 1) / 2;
  return queries * of_query * static_cast<double>(k[1]) / all * static_cast<double>(q[0] * q[2] * q[3]);
}

/// `products` of H numbers for each visible pair, and arrays of which many have the shape of q and of k.
Cost attention_cost_of(const Shape& q, const Shape& k, const AttentionShare& share, double products, Index arrays,
                       Index element_size) {
  check_queries_and_keys(q, k);
  const Index stored = arrays * (element_count(q) + element_count(k)) * element_size;
  const Index rows = q[0] * q[1] * q[2] * q[3];
  const Index lse_size = std::max<Index>(element_size, sizeof(float));
  return {Flops(2 * products * visible_pairs(q, k, share) * static_cast<double>(q[4])),
          Bytes(static_cast<double>(stored + rows * lse_size)), static_cast<double>(q[0] * q[2] * q[3])};
}

}  // namespace

template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionPlaces& places,
               View<T> o_BTKGH, View<SumOf<T>> lse_BTKG) {
  Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, places);
  check_forward(heads, q_BTKGH.shape, k_BSKH.shape, v_BSKH.shape, o_BTKGH.shape, lse_BTKG.shape);
  RowBlock<SumOf<T>> block(heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const Head<T> head{q_BTKGH.data + at.query, k_BSKH.data + at.key, v_BSKH.data + at.key};
    attend_head(heads, head, WholeRows<T>{o_BTKGH.data + at.query, lse_BTKG.data + at.row}, block);
  });
}

template <class T>
void attention_begin(const AttentionState<T>& state) {
  check_state(state);
  std::fill(state.o_BTKGH.begin(), state.o_BTKGH.end(), SumOf<T>(0));
  std::fill(state.largest_BTKG.begin(), state.largest_BTKG.end(), std::numeric_limits<SumOf<T>>::lowest());
  std::fill(state.sum_BTKG.begin(), state.sum_BTKG.end(), SumOf<T>(0));
}

template <class T>
void attention_visit(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionPlaces& places,
                     const AttentionState<T>& state) {
  Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, places);
  check_state(state);
  check_forward(heads, q_BTKGH.shape, k_BSKH.shape, v_BSKH.shape, state.o_BTKGH.shape, state.sum_BTKG.shape);
  RowBlock<SumOf<T>> block(heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const Head<T> head{q_BTKGH.data + at.query, k_BSKH.data + at.key, v_BSKH.data + at.key};
    attend_head(heads, head,
                StateRows<SumOf<T>>{state.o_BTKGH.data + at.query, state.largest_BTKG.data + at.row,
                                    state.sum_BTKG.data + at.row},
                block);
  });
}

template <class T>
void attention_finish(const AttentionState<T>& state, View<T> o_BTKGH, View<SumOf<T>> lse_BTKG) {
  check_state(state);
  check_attention_shape("o", o_BTKGH.shape, state.o_BTKGH.shape);
  check_attention_shape("lse", lse_BTKG.shape, state.sum_BTKG.shape);
  const Index width = o_BTKGH.shape[4];
  for (Index row = 0; row < lse_BTKG.size(); ++row) {
    lse_BTKG[row] = finish_row<T>(state.o_BTKGH.data + row * width, width, state.largest_BTKG[row], state.sum_BTKG[row],
                                  o_BTKGH.data + row * width);
  }
}

Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionShare& share, Index element_size) {
  return attention_cost_of(q_BTKGH, k_BSKH, share, 2, 2, element_size);
}

Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionShare& share, Index element_size) {
  return attention_cost_of(q_BTKGH, k_BSKH, share, 5, 4, element_size);
}

#define SHARDLINE_INSTANTIATE(T, Sum)                                                                               \
  template void attention(View<const T>, View<const T>, View<const T>, const AttentionPlaces&, View<T>, View<Sum>); \
  template void attention_begin(const AttentionState<T>&);                                                          \
  template void attention_visit(View<const T>, View<const T>, View<const T>, const AttentionPlaces&,                \
                                const AttentionState<T>&);                                                          \
  template void attention_finish(const AttentionState<T>&, View<T>, View<Sum>);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)

}  // namespace shardline::kernels
