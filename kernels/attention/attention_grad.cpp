#include <array>

#include "kernels/attention/blocks.h"

namespace shardline::kernels {
namespace {

/// How a gradient leaves its block.
enum class Into : bool {
  results,  ///< it is written, zeros too
  sums,     ///< it is added, where there is one
};

/// One key-value head of one sequence in the backward pass. The pointers are to its first elements. Gradients are of
/// type R.
template <class S, class R>
struct HeadGrad {
  const S *q, *k, *v, *o;
  const SumOf<S>* lse;
  const S* d_o;
  R *dq, *dk, *dv;
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

template <class S, class R, class T>
void take_grad_rows(const Heads& heads, const HeadGrad<S, R>& head, Range rows, GradBlock<T>& block) {
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

/// Writes `count` numbers times `scale`, or adds them.
template <Into into, class T, class R>
void put_numbers(const T* from, Index count, T scale, R* to) {
  for (Index i = 0; i < count; ++i) {
    if constexpr (into == Into::sums) {
      to[i] += scale * from[i];
    } else {
      to[i] = static_cast<R>(scale * from[i]);
    }
  }
}

/// The rows that see one of `keys`, and more up to a whole tile of rows: add_query_grad adds to whole tiles.
Range rows_of_tiles(const Heads& heads, Range keys) {
  const Range seeing = heads.seeing({0, heads.head_rows()}, keys);
  const Index tiles = (seeing.size() + kTileRows - 1) / kTileRows;
  return {seeing.begin, std::min(heads.head_rows(), seeing.begin + tiles * kTileRows)};
}

template <Into into, class S, class R, class T>
void attend_key_block(const Heads& heads, const HeadGrad<S, R>& head, Range keys, GradBlock<T>& block) {
  const Range seeing = rows_of_tiles(heads, keys);
  if (into == Into::sums && seeing.size() == 0) return;
  take_keys(heads, head.k, keys, block.keys);
  take_keys_transposed(heads, head.k, keys, block.keys_transposed);
  take_keys_transposed(heads, head.v, keys, block.values_transposed);
  block.d_keys.setZero();
  block.d_values.setZero();
  for (Index r = seeing.begin; r < seeing.end; r += kGradRowBlock) {
    const Range rows{r, std::min(seeing.end, r + kGradRowBlock)};
    take_grad_rows(heads, head, rows, block);
    add_query_grad(heads, rows, keys, block);
    add_key_grad(heads, rows, keys, block.weights, block.d_o, block.d_values);
    add_key_grad(heads, rows, keys, block.d_scores, block.q, block.d_keys);
  }
  for (Index i = 0; i < keys.size(); ++i) {
    const Index place = heads.sight.key(keys.begin + i) * heads.key_stride();
    put_numbers<into>(row_of(block.d_keys, i), heads.H, T(1), head.dk + place);
    put_numbers<into>(row_of(block.d_values, i), heads.H, T(1), head.dv + place);
  }
}

template <Into into, class S, class R, class T>
void attend_head_grad(const Heads& heads, const HeadGrad<S, R>& head, GradBlock<T>& block) {
  const Range rows = into == Into::sums ? rows_of_tiles(heads, {0, heads.S}) : Range{0, heads.head_rows()};
  block.d_queries.middleRows(rows.begin, rows.size()).setZero();
  for (Index s = 0; s < heads.S; s += kKeyBlock) {
    attend_key_block<into>(heads, head, {s, std::min(heads.S, s + kKeyBlock)}, block);
  }
  for (Index r = rows.begin; r < rows.end; ++r) {
    put_numbers<into>(row_of(block.d_queries, r), heads.H, static_cast<T>(heads.scale()),
                      head.dq + heads.row_place(r) * heads.H);
  }
}

/// The arrays of a call.
template <class T, class R>
struct GradCall {
  View<const T> q, k, v, o;
  View<const SumOf<T>> lse;
  View<const T> d_o;
  View<R> dq, dk, dv;
};

template <Into into, class T, class R>
void attend_all(const GradCall<T, R>& call, const AttentionPlaces& places) {
  Heads heads = check_heads(call.q.shape, call.k.shape, places);
  check_forward(heads, call.q.shape, call.k.shape, call.v.shape, call.o.shape, call.lse.shape);
  check_attention_shape("do", call.d_o.shape, call.q.shape);
  check_attention_shape("dq", call.dq.shape, call.q.shape);
  check_attention_shape("dk", call.dk.shape, call.k.shape);
  check_attention_shape("dv", call.dv.shape, call.k.shape);
  GradBlock<SumOf<T>> block(heads.head_rows(), heads.H);
  for_each_head(heads, [&](const HeadOffsets& at) {
    const HeadGrad<T, R> head{call.q.data + at.query,  call.k.data + at.key,   call.v.data + at.key,
                              call.o.data + at.query,  call.lse.data + at.row, call.d_o.data + at.query,
                              call.dq.data + at.query, call.dk.data + at.key,  call.dv.data + at.key};
    attend_head_grad<into>(heads, head, block);
  });
}

}  // namespace

template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                    View<T> dq_BTKGH, View<T> dk_BSKH, View<T> dv_BSKH) {
  attend_all<Into::results>(
      GradCall<T, T>{q_BTKGH, k_BSKH, v_BSKH, o_BTKGH, lse_BTKG, do_BTKGH, dq_BTKGH, dk_BSKH, dv_BSKH}, places);
}

template <class T>
void attention_grad_visit(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                          View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                          View<SumOf<T>> dq_sums_BTKGH, View<SumOf<T>> dk_sums_BSKH, View<SumOf<T>> dv_sums_BSKH) {
  attend_all<Into::sums>(GradCall<T, SumOf<T>>{q_BTKGH, k_BSKH, v_BSKH, o_BTKGH, lse_BTKG, do_BTKGH, dq_sums_BTKGH,
                                               dk_sums_BSKH, dv_sums_BSKH},
                         places);
}

#define SHARDLINE_INSTANTIATE(T, Sum)                                                                             \
  template void attention_grad(View<const T>, View<const T>, View<const T>, View<const T>, View<const Sum>,       \
                               View<const T>, const AttentionPlaces&, View<T>, View<T>, View<T>);                 \
  template void attention_grad_visit(View<const T>, View<const T>, View<const T>, View<const T>, View<const Sum>, \
                                     View<const T>, const AttentionPlaces&, View<Sum>, View<Sum>, View<Sum>);
SHARDLINE_INSTANTIATE(float, float)
SHARDLINE_INSTANTIATE(double, double)
SHARDLINE_INSTANTIATE(BFloat16, float)

}  // namespace shardline::kernels
