#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

/// A bias: one row that is added to every row of an array. x is [T, F]: the dims of the bias, written F here, are the
/// last ones of x, and T stands for those before. All arrays are stored as S: BFloat16, float or double. Computed in
/// SumOf<S>, and rounded once. Throws Error if the element counts disagree.
namespace shardline::kernels {

/// y = x + b in every row. y may be x itself.
template <class S>
void add_bias(View<const S> x_TF, View<const S> b_F, View<S> y_TF);
/// An addition for each element of x; x and y once over memory, and b. `x` and `b` are element counts.
Cost add_bias_cost(Index x, Index b, Index element_size);

/// db = the sum of the rows of dy, added up row after row.
template <class S>
void bias_grad(View<const S> dy_TF, View<S> db_F);
/// An addition for each element of dy; dy and db once over memory. `dy` and `db` are element counts.
Cost bias_grad_cost(Index dy, Index db, Index element_size);

}  // namespace shardline::kernels
