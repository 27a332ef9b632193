#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

/// Cross-entropy over logits_TV, in phases. Ranks that split the vocabulary reduce the small arrays
/// between phases: max_T by maximum, z_T and picked_T by sum. Logits and their gradient are stored as
/// S: BFloat16, float or double; all else is SumOf<S>, in which all is computed. Logits may have any dims before the
/// last one (written T here). The arrays _T have one element for each of these rows. A row with a negative label counts
/// nothing: it adds nothing to the loss, and its gradient is zero. Throws Error if the element counts disagree.
namespace shardline::kernels {

/// max_T = the largest logit of each row; the lowest number for an empty row. Keeps
/// NaN.
template <class S>
void row_max(View<const S> logits_TV, View<SumOf<S>> max_T);
Cost row_max_cost(const Shape& logits, Index element_size);

/// z_T = sum over this rank's V of exp(logit - max).
template <class S>
void sum_exp(View<const S> logits_TV, View<const SumOf<S>> max_T, View<SumOf<S>> z_T);
Cost sum_exp_cost(const Shape& logits, Index element_size);

/// picked_T = the logit of each label; 0 if the label is outside `vocabulary`, this rank's part.
template <class S>
void pick(View<const S> logits_TV, View<const std::int32_t> labels_T, Range vocabulary, View<SumOf<S>> picked_T);
Cost pick_cost(Index rows, Index element_size);

/// loss = scale sum over the rows that count of (log z + max - picked), a scalar (shape []), summed in f64.
/// T float or double.
template <class T>
void negative_log_likelihood(View<const T> z_T, View<const T> max_T, View<const T> picked_T,
                             View<const std::int32_t> labels_T, double scale, View<T> loss);
Cost negative_log_likelihood_cost(Index rows, Index element_size);

/// dlogits = (exp(logit - max) / z - [1 in the label's column]) dloss scale in the rows that count; `dloss` is a
/// scalar.
template <class S>
void cross_entropy_grad(View<const S> logits_TV, View<const std::int32_t> labels_T, View<const SumOf<S>> max_T,
                        View<const SumOf<S>> z_T, View<const SumOf<S>> dloss, Range vocabulary, double scale,
                        View<S> dlogits_TV);
Cost cross_entropy_grad_cost(const Shape& logits, Index element_size);

}  // namespace shardline::kernels
