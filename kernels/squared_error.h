#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// loss = scale * the sum of (out - target)^2 over all elements: a scalar (shape []), summed in f64. Both arrays are
/// stored as S: BFloat16, float or double. Both arrays have the same element count, else Error.
template <class S>
void squared_error(View<const S> out, View<const S> target, double scale, View<SumOf<S>> loss);
/// Three operations per element; reads both arrays once.
Cost squared_error_cost(Index count, Index element_size);

/// The derivative of squared_error() in `out`: d_out = 2 scale d_loss (out - target). d_out may be `out` or `target`.
template <class S>
void squared_error_grad(View<const S> out, View<const S> target, double d_loss, double scale, View<S> d_out);
/// Two operations per element; reads two arrays, writes one.
Cost squared_error_grad_cost(Index count, Index element_size);

}  // namespace shardline::kernels
