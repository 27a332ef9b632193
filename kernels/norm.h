#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

/// RMSNorm, y = x / sqrt(mean(x^2) + eps) w over the last dim, in two phases. Between them, ranks
/// that split D sum the small array over the rows. T float or double. x may have any dims before
/// the last one (written T here). Arrays _T have one element for each of these rows. Throws Error
/// if the element counts disagree.
namespace shardline::kernels {

struct NormOptions {
  Index width = 0;    ///< extent of the whole D, not of this rank's part
  double eps = 0;     ///< added to the mean square
  bool adds = false;  ///< norm_grad() adds its rows to dw, which has the sum over the rows before them
};

/// ss_T = sum over this rank's D of x^2.
template <class T>
void sum_squares_rows(View<const T> x_TD, View<T> ss_T);
Cost sum_squares_rows_cost(const Shape& x, Index element_size);

/// y = x r w with r = 1 / sqrt(ss / width + eps); `ss` is summed over the whole D. NaN if `ss` is
/// infinite.
template <class T>
void normalize(View<const T> x_TD, View<const T> ss_T, View<const T> w_D, const NormOptions& options, View<T> y_TD);
Cost normalize_cost(const Shape& x, Index element_size);

/// dot_T = sum over this rank's D of dy w x.
template <class T>
void norm_dot(View<const T> dy_TD, View<const T> w_D, View<const T> x_TD, View<T> dot_T);
Cost norm_dot_cost(const Shape& x, Index element_size);

/// dx = r dy w - x r^3 / width dot; `dot` is summed over the whole D. dw_D = sum over the rows of
/// dy x r.
template <class T>
void norm_grad(View<const T> dy_TD, View<const T> x_TD, View<const T> ss_T, View<const T> w_D, View<const T> dot_T,
               const NormOptions& options, View<T> dx_TD, View<T> dw_D);
Cost norm_grad_cost(const Shape& x, Index element_size);

}  // namespace shardline::kernels
