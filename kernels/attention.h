#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Where the given blocks of queries and keys begin in the whole sequence.
struct AttentionOptions {
  Index query_begin = 0;
  Index key_begin = 0;
};

/// Causal grouped-query attention. Each key-value head K serves G query heads. The query at
/// position t attends the keys at positions s <= t with softmax(q k / sqrt(H)).
///
/// o = the weighted values. lse = the log of the sum of the exponentials of a row's scores; the
/// gradient needs it. A row without keys gives o = 0 and the lowest finite number as lse.
/// Works block by block with an online softmax (Dao et al., "FlashAttention"): scratch memory does
/// not grow with T or S, and blocks above the diagonal cost nothing. T float, double or BFloat16. bf16
/// is computed in f32: lse is f32, and o is rounded once. Throws Error if the shapes disagree.
template <class T>
void attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const AttentionOptions& options,
               View<T> o_BTKGH, View<SumOf<T>> lse_BTKG);

/// The gradients of attention; `do_BTKGH` is the gradient of its result. Computes the probabilities
/// again from `lse`. Scratch memory holds dq of one key-value head: it is scaled, and rounded once,
/// after the last block of keys.
template <class T>
void attention_grad(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, View<const T> o_BTKGH,
                    View<const SumOf<T>> lse_BTKG, View<const T> do_BTKGH, const AttentionOptions& options,
                    View<T> dq_BTKGH, View<T> dk_BSKH, View<T> dv_BSKH);

/// 4 H operations per query head and visible pair of query and key; every array once. An element of
/// lse has at least the 4 bytes of f32.
Cost attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options, Index element_size);

/// 10 H operations per visible pair: the scores again, and two products for each of the two forward
/// products.
Cost attention_grad_cost(const Shape& q_BTKGH, const Shape& k_BSKH, const AttentionOptions& options,
                         Index element_size);

}  // namespace shardline::kernels
