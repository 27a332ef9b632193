#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Where the given queries and keys stand in their sequences. A query sees a key if the key stands at or before it, and
/// not before its start: start <= position of the key <= position of the query. Positions may come in any order.
/// Queries and keys whose positions ascend in long runs are fastest.
struct AttentionPlaces {
  View<const std::int32_t> query_positions;  ///< [T]
  View<const std::int32_t> key_positions;    ///< [S]
  /// [B, T], for each query the position at which its document begins. Without dims: every document begins at 0.
  View<const std::int32_t> starts = {};
};

/// Causal grouped-query attention. Each key-value head K serves G query heads. A query attends the keys that it sees
/// (AttentionPlaces) with softmax(q k / sqrt(H)).
///
/// o = the weighted values. lse = the log of the sum of the exponentials of a row's scores; the
/// gradient needs it. A row without keys gives o = 0 and the lowest finite number as lse.
/// Works block by block with an online softmax (Dao et al., "FlashAttention"): scratch memory does
/// not grow with the product of T and S, and blocks that no query sees cost nothing. The order of the keys changes no
/// bit; nor does that of the queries, but for their place in the results. T float, double or BFloat16. bf16
/// is computed in f32: lse is f32, and o is rounded once. Throws Error if the shapes disagree.
template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionPlaces& places,
               View<T> o_BTKGH, View<SumOf<T>> lse_BTKG);

/// What queries have gathered from the keys that they have met so far. Owns nothing. Keys may come block by block, each
/// key once:
///   attention_begin(state);
///   attention_visit(q, k, v, places, state);  // for each block of keys, in any order
///   attention_finish(state, o, lse);
template <class T>
struct AttentionState {
  View<SumOf<T>> o_BTKGH;       ///< the weighted values, not yet divided by `sum`
  View<SumOf<T>> largest_BTKG;  ///< the largest score of each row
  View<SumOf<T>> sum_BTKG;      ///< of exp(score - largest)
};

/// The state of queries that have met no key.
template <class T>
void attention_begin(const AttentionState<T>& state);

/// Adds a block of keys to the state. `places` are those of the queries and of these keys. Queries that see none of
/// them keep their state, at no cost. Throws Error if the shapes disagree.
template <class T>
void attention_visit(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionPlaces& places,
                     const AttentionState<T>& state);

/// The results of attention() from the state after all visits: the same within rounding. `o_BTKGH` may be the state's
/// own, if T is the type of its sums. Throws Error if the shapes disagree.
template <class T>
void attention_finish(const AttentionState<T>& state, View<T> o_BTKGH, View<SumOf<T>> lse_BTKG);

/// The gradients of attention; `do_BTKGH` is the gradient of its result. Computes the probabilities
/// again from `lse`. Scratch memory holds dq of one key-value head: it is scaled, and rounded once,
/// after the last block of keys.
template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                    View<T> dq_BTKGH, View<T> dk_BSKH, View<T> dv_BSKH);

/// Adds to the gradients what one block of keys contributes: to `dq_sums`, and to `dk_sums` and `dv_sums` of these
/// keys. `o`, `lse` and `do` are those of all keys. Visits of all keys give the results of attention_grad() within
/// rounding. Throws Error if the shapes disagree.
template <class T>
void attention_grad_visit(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                          View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                          View<SumOf<T>> dq_sums_BTKGH, View<SumOf<T>> dk_sums_BSKH, View<SumOf<T>> dv_sums_BSKH);

/// How the tokens of whole sequences, each one document, are shared out to the ranks that split them. Prices need it.
struct AttentionShare {
  Index tokens = 0;       ///< of a whole sequence
  bool balanced = false;  ///< every rank has the same share of the pairs; else a rank has neighbouring tokens
};

/// 4 H operations per query head and visible pair of query and key; every array once, without the positions. The pairs
/// are those of the rank that has the most: of balanced shares the mean, else those of the last T queries of the
/// sequences. S keys of a sequence have S / tokens of its pairs. An element of lse has at least the 4 bytes of f32.
Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionShare& share, Index element_size);

/// 10 H operations per visible pair: the scores again, and two products for each of the two forward
/// products.
Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionShare& share, Index element_size);

}  // namespace shardline::kernels
