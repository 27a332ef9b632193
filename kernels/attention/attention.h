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

/// The gradients of attention; `do_BTKGH` is the gradient of its result. Computes the probabilities
/// again from `lse`. Scratch memory holds dq of one key-value head: it is scaled, and rounded once,
/// after the last block of keys.
template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionPlaces& places,
                    View<T> dq_BTKGH, View<T> dk_BSKH, View<T> dv_BSKH);

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
