#include "kernels/attention.h"

#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention_blocks.h"
#include "runtime/base/check.h"

namespace shardline::kernels {
Heads check_heads(const Shape& q, const Shape& k, const AttentionOptions& options) {
  SHARDLINE_CHECK(q.size() == 5, "attention: q has shape {}, not [B, T, K, G, H]", to_string(q));
  SHARDLINE_CHECK(k.size() == 4, "attention: k has shape {}, not [B, S, K, H]", to_string(k));
  SHARDLINE_CHECK(q[0] == k[0] && q[2] == k[2] && q[4] == k[3], "attention: q {} and k {} differ in B, K or H",
                  to_string(q), to_string(k));
  return {q[0], q[1], k[1], q[2], q[3], q[4], options};
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
  S* o;
  SumOf<S>* lse;
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

/// Pads a row of scores to a multiple of kLanes with scores whose exponential is 0. Returns the
/// padded length.
template <class T>
Index pad_row(T* scores, Index visible) {
  const Index padded = (visible + kLanes - 1) / kLanes * kLanes;
  for (Index s = visible; s < padded; ++s) scores[s] = std::numeric_limits<T>::lowest();
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
/// rows.
template <class T>
void soften_tile(const Heads& heads, Range rows, Range keys, Index r, RowBlock<T>& block) {
  std::array<Index, kTileRows> padded;
  std::array<T, kTileRows> largest;
  const Index count = std::min(kTileRows, rows.size() - r);
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    T* scores = block.scores.data() + i * kKeyDistance<T>;
    padded[row] = pad_row(scores, heads.visible(rows.begin + r + i, keys));
    largest[row] = largest_score(scores, padded[row], block.largest[static_cast<std::size_t>(r + i)]);
    std::fill(scores + padded[row], scores + std::max(padded[row], keys.size()), T(0));
  }
  for (Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    T &former = block.largest[static_cast<std::size_t>(r + i)], &sum = block.sum[static_cast<std::size_t>(r + i)];
    const T shrink = vector_exp(former - largest[row]);
    sum = sum * shrink + weigh_scores(block.scores.data() + i * kKeyDistance<T>, padded[row], largest[row]);
    former = largest[row];
    if (shrink != T(1)) block.output.row(r + i) *= shrink;
  }
}

/// Adds one block of keys to a block of rows, one tile of rows at a time. Skips tiles that see none
/// of the keys.
template <class T>
void attend_block(const Heads& heads, Range rows, Range keys, RowBlock<T>& block) {
  const Index first = std::max<Index>(0, heads.first_seeing(keys.begin) - rows.begin) / kTileRows * kTileRows;
  for (Index r = first; r < rows.size(); r += kTileRows) {
    const Index last = std::min(r + kTileRows, rows.size()) - 1;
    const Index visible = heads.visible(rows.begin + last, keys);
    T* scores = block.scores.data();
    multiply_keys(heads, row_of(block.q, r), block.width(), block.keys, visible, scores);
    soften_tile(heads, rows, {keys.begin, keys.begin + visible}, r, block);
    multiply_tiles<TileResult::add, T>({.depth = visible,
                                        .columns = heads.H,
                                        .a = scores,
                                        .a_row = kKeyDistance<T>,
                                        .b = block.values.data(),
                                        .b_row = block.width(),
                                        .c = row_of(block.output, r),
                                        .c_row = block.width()});
  }
}

/// Writes the finished rows of a block.
template <class S, class T>
void finish_rows(const Heads& heads, Range rows, const RowBlock<T>& block, const Head<S>& head) {
  for (Index r = 0; r < rows.size(); ++r) {
    const auto row = static_cast<std::size_t>(r);
    const T sum = block.sum[row];
    const bool seen = sum != T(0);
    const Index place = heads.row_place(rows.begin + r);
    const T* output = row_of(block.output, r);
    S* o = head.o + place * heads.H;
    for (Index h = 0; h < heads.H; ++h) o[h] = static_cast<S>(seen ? output[h] / sum : T(0));
    head.lse[place] = seen ? block.largest[row] + std::log(sum) : std::numeric_limits<T>::lowest();
  }
}

template <class S, class T>
void attend_head(const Heads& heads, const Head<S>& head, RowBlock<T>& block) {
  for (Index r = 0; r < heads.head_rows(); r += kRowBlock) {
    const Range rows{r, std::min(heads.head_rows(), r + kRowBlock)};
    const Index visible = heads.visible((rows.end - 1) / heads.G);
    take_rows(heads, head.q, rows, static_cast<T>(heads.scale()), block.q);
    block.reset();
    for (Index s = 0; s < visible; s += kKeyBlock) {
      const Range keys{s, std::min(visible, s + kKeyBlock)};
      take_keys_transposed(heads, head.k, keys, block.keys);
      take_keys(heads, head.v, keys, block.values);
      attend_block(heads, rows, keys, block);
    }
    finish_rows(heads, rows, block, head);
  }
}

/// Visible pairs of query and key over all query heads. The first queries see no key, the last ones
/// see all. Between them each query sees one key more than the one before.
double visible_pairs(const Heads& heads) {
  const Index before = heads.options.query_begin + 1 - heads.options.key_begin;  // keys before the end of query 0
  const Index first = std::clamp<Index>(-before, 0, heads.T);
  const Index end = std::clamp<Index>(heads.S - before, first, heads.T);
  const auto rising = static_cast<double>(end - first) * static_cast<double>(2 * before + first + end - 1) / 2;
  const auto full = static_cast<double>(heads.T - end) * static_cast<double>(heads.S);
  return (rising + full) * static_cast<double>(heads.B * heads.K * heads.G);
}

Cost attention_cost_of(const Heads& heads, double products, Index query_arrays, Index key_arrays, Index element_size) {
  const Index query_count = heads.query_rows() * heads.H;
  const Index key_count = heads.B * heads.S * heads.K * heads.H;
  const Index lse_size = std::max<Index>(element_size, sizeof(float));
  const Index stored = (query_arrays * query_count + key_arrays * key_count) * element_size;
  return {Flops(2 * products * visible_pairs(heads) * static_cast<double>(heads.H)),
          Bytes(static_cast<double>(stored + heads.query_rows() * lse_size)),
          static_cast<double>(heads.B * heads.K * heads.G)};
}

}  // namespace

template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionOptions& options,
               View<T> o_BTKGH, View<SumOf<T>> lse_BTKG) {
  const Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, options);
  check_forward(heads, q_BTKGH.shape, k_BSKH.shape, v_BSKH.shape, o_BTKGH.shape, lse_BTKG.shape);
  RowBlock<SumOf<T>> block(heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const Head<T> head{q_BTKGH.data + at.query, k_BSKH.data + at.key, v_BSKH.data + at.key, o_BTKGH.data + at.query,
                       lse_BTKG.data + at.row};
    attend_head(heads, head, block);
  });
}

Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options, Index element_size) {
  return attention_cost_of(check_heads(q_BTKGH, k_BSKH, options), 2, 2, 2, element_size);
}

Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options,
                         Index element_size) {
  return attention_cost_of(check_heads(q_BTKGH, k_BSKH, options), 5, 4, 4, element_size);
}

#define SHARDLINE_INSTANTIATE(T, Sum) \
  template void attention(View<const T>, View<const T>, View<const T>, const AttentionOptions&, View<T>, View<Sum>);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)

}  // namespace shardline::kernels
