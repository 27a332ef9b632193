#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

/// RMSNorm, y = x / sqrt(mean(x^2) + eps) w over the last dim, in two phases. Between them, ranks
/// that split D sum the small array over the rows. x, y and their gradients are stored as S: BFloat16,
/// float or double. Sums over rows, w and its gradient are SumOf<S>, in which all is computed. x may have
/// any dims before the last one (written T here). Arrays _T have one element for each of these rows.
/// Throws Error if the element counts disagree.
namespace shardline::kernels {

struct NormOptions {
  Index width = 0;    ///< extent of the whole D, not of this rank's part
  double eps = 0;     ///< added to the mean square
  bool adds = false;  ///< norm_grad() adds its rows to dw, which has the sum over the rows before them
};

/// ss_T = sum over this rank's D of x^2.
template <class S>
void sum_squares_rows(View<const S> x_TD, View<SumOf<S>> ss_T);
Cost sum_squares_rows_cost(const Shape& x, Index element_size);

/// y = x r w with r = 1 / sqrt(ss / width + eps); `ss` is summed over the whole D. NaN if `ss` is
/// infinite.
template <class S>
void normalize(View<const S> x_TD, View<const SumOf<S>> ss_T, View<const SumOf<S>> w_D, const NormOptions& options,
               View<S> y_TD);
Cost normalize_cost(const Shape& x, Index element_size);

/// dot_T = sum over this rank's D of dy w x.
template <class S>
void norm_dot(View<const S> dy_TD, View<const SumOf<S>> w_D, View<const S> x_TD, View<SumOf<S>> dot_T);
Cost norm_dot_cost(const Shape& x, Index element_size);

/// dx = r dy w - x r^3 / width dot; `dot` is summed over the whole D. dw_D = sum over the rows of
/// dy x r.
template <class S>
void norm_grad(View<const S> dy_TD, View<const S> x_TD, View<const SumOf<S>> ss_T, View<const SumOf<S>> w_D,
               View<const SumOf<S>> dot_T, const NormOptions& options, View<S> dx_TD, View<SumOf<S>> dw_D);
Cost norm_grad_cost(const Shape& x, Index element_size);

}  // namespace shardline::kernels
