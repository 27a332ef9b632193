#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// Where queries stand in their sequences, and which position each place of a cache holds. A query sees a place if
/// where <= at.
struct CachePlaces {
  View<const std::int32_t> at_BT;    ///< -1: there is no token
  View<const std::int32_t> where_S;  ///< any permutation of positions, or a part of one
};

/// Attention over a cache: o = the values of the places that a query sees, weighted with softmax(q k / sqrt(H)). Each
/// key-value head K serves G query heads. A query that sees nothing gives 0. Places that a query does not see are not
/// read. T float, double or BFloat16; bf16 is computed in f32. Throws Error if the shapes disagree.
template <class T>
void cache_attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const CachePlaces& places,
                     View<T> o_BTKGH);

// The same in phases, for a cache whose places lie on several ranks: the ranks agree on the largest score after the
// first phase, and add `w` and `sum` after the second.

/// Scores q k / sqrt(H) of the places seen, and the largest of each row; of no place it is the lowest finite number.
/// Scores of other places are not written. Throws Error if the shapes disagree.
template <class T>
void cache_scores(View<const T> q_BTKGH, View<const T> k_BSKH, const CachePlaces& places, View<SumOf<T>> s_BTKGS,
                  View<SumOf<T>> max_BTKG);

/// w = the sum of exp(s - max) v over the places seen, sum = that of exp(s - max). Throws Error if the shapes disagree.
template <class T>
void cache_weigh(View<const SumOf<T>> s_BTKGS, View<const T> v_BSKH, View<const SumOf<T>> max_BTKG,
                 const CachePlaces& places, View<SumOf<T>> w_BTKGH, View<SumOf<T>> sum_BTKG);

/// o = w / sum, and 0 where sum is 0. Throws Error if the shapes disagree.
template <class T>
void cache_divide(View<const SumOf<T>> w_BTKGH, View<const SumOf<T>> sum_BTKG, View<T> o_BTKGH);

/// 4 H operations per query head and place; q and o once, of the caches the places seen. `seen` is the share of the
/// places that a query is expected to see.
Cost cache_attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, double seen, Index element_size);

/// Of cache_scores() as of cache_weigh(): 2 H operations per query head and place; one cache once, of the places seen.
/// Scores count as they are written or read: 4 bytes at least. `rows` are dims B, T, K, G, and any after them.
Cost cache_scores_cost(const Shape& rows_BTKG, const Shape& k_BSKH, double seen, Index element_size);

/// One operation per element; w, o and the sums once.
Cost cache_divide_cost(Index count, Index sum_size, Index element_size);

}  // namespace shardline::kernels
