#include <array>

#include "kernels/attention/blocks.h"

namespace shardline::kernels {
namespace {

/// One key-value head of one sequence in the backward pass. The pointers are to its first elements.
template <class S>
struct HeadGrad {
  const S *q, *k, *v, *o;
  const SumOf<S>* lse;
  const S* d_o;
  S *dq, *dk, *dv;
};

/// Buffers of the backward pass for one block of rows and one of keys.
template <class T>
struct GradBlock {
  GradBlock(Index head_rows, Index width)
      : q(zero_block<T>(kGradRowBlock, width)),
        d_o(q),
        weights(zero_block<T>(kGradRowBlock, kKeyBlock)),
        d_scores(weights),
        keys(zero_block<T>(kKeyBlock, width)),
        d_keys(keys),
        d_values(keys),
        keys_transposed(zero_block<T>(width, kKeyBlock)),
        values_transposed(keys_transposed),
        d_queries(zero_block<T>(head_rows + kTileRows, width)) {}

  Block<T> q, d_o;                              ///< [rows, H], q scaled
  Block<T> weights, d_scores;                   ///< the probabilities, and the gradients of the scores [rows, keys]
  Block<T> keys, d_keys, d_values;              ///< [keys, H]
  Block<T> keys_transposed, values_transposed;  ///< [H, keys]
  Block<T> d_queries;                           ///< [all rows of a head, H], not yet scaled
  std::array<T, kGradRowBlock> lse, delta;      ///< of each row; delta = sum over H of do o

  Index width() const { return q.cols(); }
};

/// The first `count` lanes from memory in the type of sums, zero in the rest.
template <class T, class S, class Count>
[[gnu::always_inline]] inline Lanes<T> widen(const S* from, Count count) {
  if constexpr (std::is_same_v<S, T>) {
    return load(from, count);
  } else {
    Lanes<T> lanes = Lanes<T>::Zero();
    for (Index i = 0; i < count; ++i) lanes[i] = static_cast<T>(from[i]);
    return lanes;
  }
}

template <class S, class T>
void take_grad_rows(const Heads& heads, const HeadGrad<S>& head, Range rows, GradBlock<T>& block) {
  take_rows(heads, head.q, rows, static_cast<T>(heads.scale()), block.q);
  take_rows(heads, head.d_o, rows, T(1), block.d_o);
  for (Index r = 0; r < rows.size(); ++r) {
    const Index place = heads.row_place(rows.begin + r);
    const S *o = head.o + place * heads.H, *d_o = head.d_o + place * heads.H;
    block.lse[static_cast<std::size_t>(r)] = head.lse[place];
    block.delta[static_cast<std::size_t>(r)] = sum_lanes<T>(
        heads.H, [&](Index h, auto count) -> Lanes<T> { return widen<T>(o + h, count) * widen<T>(d_o + h, count); });
  }
}

/// Turns scores into probabilities, and gradients of the probabilities into gradients of the
/// scores. Zero for the other keys before `end`, which the row does not see.
template <class T>
void soften_grad_row(GradBlock<T>& block, Index r, Range seen, Index end) {
  T *weights = row_of(block.weights, r), *d_scores = row_of(block.d_scores, r);
  const T lse = block.lse[static_cast<std::size_t>(r)], delta = block.delta[static_cast<std::size_t>(r)];
  for (Index s = seen.begin / kLanes * kLanes; s < seen.end; s += kLanes) {
    const Lanes<T> weight = exp_lanes<T>(load(weights + s, FullCount()) - lse);
    store(weight, weights + s, FullCount());
    store<T>(weight * (load(d_scores + s, FullCount()) - delta), d_scores + s, FullCount());
  }
  for (T* row : {weights, d_scores}) {
    std::fill(row, row + seen.begin, T(0));
    std::fill(row + seen.end, row + std::max(seen.end, end), T(0));
  }
}

/// Fills `weights` and `d_scores`, and adds to the gradients of the queries, one tile of rows at a
/// time.
template <class T>
void add_query_grad(const Heads& heads, Range rows, Range keys, GradBlock<T>& block) {
  const Index end = std::min(kKeyBlock, keys.size() + kTileRows);  // add_key_grad reads whole tiles of keys
  for (Index r = 0; r < rows.size(); r += kTileRows) {
    const Range tile{rows.begin + r, rows.begin + std::min(r + kTileRows, rows.size())};
    const Range window = window_of(heads.seen(tile, keys));
    multiply_keys(heads, row_of(block.q, r), block.width(), block.keys_transposed, window, row_of(block.weights, r));
    multiply_keys(heads, row_of(block.d_o, r), block.width(), block.values_transposed, window,
                  row_of(block.d_scores, r));
    for (Index row = tile.begin; row < tile.end; ++row) {
      soften_grad_row(block, row - rows.begin, heads.seen(row, keys), end);
    }
    multiply_tiles<TileResult::add, T>({.depth = window.size(),
                                        .columns = heads.H,
                                        .a = row_of(block.d_scores, r) + window.begin,
                                        .a_row = kKeyDistance<T>,
                                        .b = row_of(block.keys, window.begin),
                                        .b_row = block.width(),
                                        .c = row_of(block.d_queries, rows.begin + r),
                                        .c_row = block.width()});
  }
}

/// Adds factors^T of_rows to the gradients of keys or values: `of_rows` is [rows, H], `factors`
/// [rows, keys]. Skips the first and the last rows that do not see the tile of keys.
template <class T>
void add_key_grad(const Heads& heads, Range rows, Range keys, const Block<T>& factors, const Block<T>& of_rows,
                  Block<T>& gradient) {
  for (Index s = 0; s < keys.size(); s += kTileRows) {
    const Range seeing = heads.seeing(rows, {keys.begin + s, keys.begin + std::min(s + kTileRows, keys.size())});
    const Index first = seeing.begin - rows.begin;
    multiply_tiles<TileResult::add, T>({.depth = seeing.size(),
                                        .columns = heads.H,
                                        .a = factors.data() + first * kKeyDistance<T> + s,
                                        .a_row = 1,
                                        .a_step = kKeyDistance<T>,
                                        .b = of_rows.data() + first * of_rows.cols(),
                                        .b_row = of_rows.cols(),
                                        .c = row_of(gradient, s),
                                        .c_row = gradient.cols()});
  }
}

template <class S, class T>
void attend_head_grad(const Heads& heads, const HeadGrad<S>& head, GradBlock<T>& block) {
  block.d_queries.setZero();
  for (Index s = 0; s < heads.S; s += kKeyBlock) {
    const Range keys{s, std::min(heads.S, s + kKeyBlock)};
    take_keys(heads, head.k, keys, block.keys);
    take_keys_transposed(heads, head.k, keys, block.keys_transposed);
    take_keys_transposed(heads, head.v, keys, block.values_transposed);
    block.d_keys.setZero();
    block.d_values.setZero();
    const Range seeing = heads.seeing({0, heads.head_rows()}, keys);
    // add_query_grad adds to whole tiles of rows.
    const Index end =
        std::min(heads.head_rows(), seeing.begin + (seeing.size() + kTileRows - 1) / kTileRows * kTileRows);
    for (Index r = seeing.begin; r < end; r += kGradRowBlock) {
      const Range rows{r, std::min(end, r + kGradRowBlock)};
      take_grad_rows(heads, head, rows, block);
      add_query_grad(heads, rows, keys, block);
      add_key_grad(heads, rows, keys, block.weights, block.d_o, block.d_values);
      add_key_grad(heads, rows, keys, block.d_scores, block.q, block.d_keys);
    }
    for (Index i = 0; i < keys.size(); ++i) {
      const Index place = heads.sight.key(s + i) * heads.key_stride();
      copy_numbers(row_of(block.d_keys, i), heads.H, head.dk + place);
      copy_numbers(row_of(block.d_values, i), heads.H, head.dv + place);
    }
  }
  for (Index r = 0; r < heads.head_rows(); ++r) {
    const T *from = row_of(block.d_queries, r), scale = static_cast<T>(heads.scale());
    S* to = head.dq + heads.row_place(r) * heads.H;
    for (Index h = 0; h < heads.H; ++h) to[h] = static_cast<S>(scale * from[h]);
  }
}

}  // namespace

template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                    View<T> dq_BTKGH, View<T> dk_BSKH, View<T> dv_BSKH) {
  Heads heads = check_heads(q_BTKGH.shape, k_BSKH.shape, places);
  check_forward(heads, q_BTKGH.shape, k_BSKH.shape, v_BSKH.shape, o_BTKGH.shape, lse_BTKG.shape);
  check_attention_shape("do", do_BTKGH.shape, q_BTKGH.shape);
  check_attention_shape("dq", dq_BTKGH.shape, q_BTKGH.shape);
  check_attention_shape("dk", dk_BSKH.shape, k_BSKH.shape);
  check_attention_shape("dv", dv_BSKH.shape, k_BSKH.shape);
  GradBlock<SumOf<T>> block(heads.head_rows(), heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const HeadGrad<T> head{q_BTKGH.data + at.query,  k_BSKH.data + at.key,   v_BSKH.data + at.key,
                           o_BTKGH.data + at.query,  lse_BTKG.data + at.row, do_BTKGH.data + at.query,
                           dq_BTKGH.data + at.query, dk_BSKH.data + at.key,  dv_BSKH.data + at.key};
    attend_head_grad(heads, head, block);
  });
}

#define SHARDLINE_INSTANTIATE(T, Sum)                                                                       \
  template void attention_grad(View<const T>, View<const T>, View<const T>, View<const T>, View<const Sum>, \
                               View<const T>, const AttentionPlaces&, View<T>, View<T>, View<T>);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)

}  // namespace shardline::kernels
