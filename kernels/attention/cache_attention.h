#pragma once

#include "kernels/attention/cache_places.h"
#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

/// Attention of new tokens over a cache of keys and values. Each key-value head K serves G query heads. A query sees
/// the places whose position is at most its own (CachePlaces). Places that a query does not see are not read for it:
/// they may hold anything. Places may lie in any order; ascending positions, as of a cache in order or striped over
/// ranks, are fastest. For one token of each sequence, the seen keys and values are read once, in the order in which
/// they lie. bf16 is computed in f32. Throws Error if the shapes disagree. T float, double or BFloat16.
namespace shardline::kernels {

/// o = the values that a query sees, weighted by softmax(q k / sqrt(H)); 0 for a query that sees none. Works block by
/// block with an online softmax. `o` of one query does not depend on the other queries, bit for bit.
template <class T>
void cache_attention(View<const T> q_BTKGH, View<const T> k_BSKH, View<const T> v_BSKH, const CachePlaces& places,
                     View<T> o_BTKGH);

/// The same in three phases, for caches whose places several ranks share. Between the phases `max` is reduced to the
/// largest of all ranks, and then `w` and `sum` are added up over the ranks.
///
/// First: s = q k / sqrt(H) and max = the largest of them. Scores of places that are not seen are not written. Without
/// a seen place, max is the lowest finite number.
template <class T>
void cache_scores(View<const T> q_BTKGH, View<const T> k_BSKH, const CachePlaces& places, View<SumOf<T>> s_BTKGS,
                  View<SumOf<T>> max_BTKG);

/// Second: w = the sum of exp(s - max) v over the seen places, and sum = that of exp(s - max). Both are 0 without a
/// seen place.
template <class T>
void cache_weigh(View<const SumOf<T>> s_BTKGS, View<const T> v_BSKH, View<const SumOf<T>> max_BTKG,
                 const CachePlaces& places, View<SumOf<T>> w_BTKGH, View<SumOf<T>> sum_BTKG);

/// Third: o = w / sum, rounded once; 0 where sum is 0.
template <class T>
void cache_divide(View<const SumOf<T>> w_BTKGH, View<const SumOf<T>> sum_BTKG, View<T> o_BTKGH);

/// 4 H operations per query head and seen place. q and o once, and what is seen of the caches once. `seen` is the
/// expected share of the places that is seen.
Cost cache_attention_cost(const Shape& q_BTKGH, const Shape& k_BSKH, double seen, Index element_size);

/// Of cache_scores() as of cache_weigh(): 2 H operations per query head and seen place. What is seen of one cache once,
/// and a score of at least 4 bytes for each of these pairs. The dims after the first four of `rows` do not count.
Cost cache_scores_cost(const Shape& rows_BTKG, const Shape& k_BSKH, double seen, Index element_size);

/// One operation per element. `count` elements of w are read, and as many of o written.
Cost cache_divide_cost(Index count, Index sum_size, Index element_size);

}  // namespace shardline::kernels
