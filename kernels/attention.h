#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Where the given blocks of queries and keys lie in the whole sequence.
struct AttentionOptions {
  Index query_begin = 0;
  Index key_begin = 0;
};

/// Causal grouped-query attention: each of the G query heads of key-value head K has the query at position t attend the
/// keys at positions s <= t with softmax(q k / sqrt(H)).
///
/// o = the weighted values; lse = the log of the sum of the exponentials of a row's scores, which the gradient needs. A
/// row without keys gives o = 0 and lse = std::numeric_limits<T>::lowest(). Works block by block with an online softmax
/// (Dao et al., "FlashAttention"): memory beyond the arrays does not grow with T or S, and blocks above the diagonal
/// cost nothing. T float or double. Throws Error when the shapes disagree.
template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionOptions& options,
               View<T> o_BTKGH, View<T> lse_BTKG);

/// The gradients of attention for the gradient `do_BTKGH` of its result; the probabilities are computed again from
/// `lse`.
template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const T> lse_BTKG, View<const T> do_BTKGH, const AttentionOptions& options, View<T> dq_BTKGH,
                    View<T> dk_BSKH, View<T> dv_BSKH);

/// 4 H operations per visible pair of query and key and query head; every array once.
Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options, Index element_size);

/// 10 H operations per visible pair: the scores again, and two products for each side of the two products.
Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options,
                         Index element_size);

}  // namespace shardline::kernels
