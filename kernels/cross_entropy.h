#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

/// Cross-entropy over logits_TV, in phases. Ranks that split the vocabulary reduce the small arrays
/// between phases: max_T by maximum, z_T and picked_T by sum. T float or double. Logits may have
/// any dims before the last one (written T here). The arrays _T have one element for each of these
/// rows. Throws Error if the element counts disagree.
namespace shardline::kernels {

/// max_T = the largest logit of each row; std::numeric_limits<T>::lowest() for an empty row. Keeps
/// NaN.
template <class T>
void row_max(View<const T> logits_TV, View<T> max_T);
Cost row_max_cost(const Shape& logits, Index element_size);

/// z_T = sum over this rank's V of exp(logit - max).
template <class T>
void sum_exp(View<const T> logits_TV, View<const T> max_T, View<T> z_T);
Cost sum_exp_cost(const Shape& logits, Index element_size);

/// picked_T = the logit of each label; 0 if the label is outside `vocabulary`, this rank's part.
template <class T>
void pick(View<const T> logits_TV, View<const std::int32_t> labels_T, Range vocabulary, View<T> picked_T);
Cost pick_cost(Index rows, Index element_size);

/// loss = scale sum over the rows of (log z + max - picked), a scalar (shape []), summed in f64.
template <class T>
void negative_log_likelihood(View<const T> z_T, View<const T> max_T, View<const T> picked_T, double scale,
                             View<T> loss);
Cost negative_log_likelihood_cost(Index rows, Index element_size);

/// dlogits = (exp(logit - max) / z - [1 in the label's column]) dloss scale; `dloss` is a scalar.
template <class T>
void cross_entropy_grad(View<const T> logits_TV, View<const std::int32_t> labels_T, View<const T> max_T,
                        View<const T> z_T, View<const T> dloss, Range vocabulary, double scale, View<T> dlogits_TV);
Cost cross_entropy_grad_cost(const Shape& logits, Index element_size);

}  // namespace shardline::kernels
