#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// One step of plain gradient descent, T float or double: p_out = p - learning_rate g. There is no clipping and no
/// weight decay. All arrays have the same element count, else Error. p_out may be p itself.
template <class T>
void descent(View<const T> p, View<const T> g, double learning_rate, View<T> p_out);

/// Two operations per element; the parameter is read and written, the gradient is read. Sizes of an element in bytes.
Cost descent_cost(Index count, Index parameter_size, Index gradient_size);

}  // namespace shardline::kernels
