#pragma once

#include <span>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

/// Elementwise operations, T float or double. All arrays of a call have equal element counts (else Error); a result may
/// be the same array as an operand, but must not overlap one partly. In the costs an exponential counts as one
/// operation.
namespace shardline::kernels {

/// out = terms[0] + terms[1] + ..., added in this order. At least one term.
template <class T>
void add(std::span<const View<const T>> terms, View<T> out);
Cost add_cost(Index terms, Index count, Index element_size);

/// y = silu(g) u with silu(g) = g / (1 + exp(-g)).
template <class T>
void silu_mul(View<const T> g, View<const T> u, View<T> y);
Cost silu_mul_cost(Index count, Index element_size);

/// The gradients of silu_mul for the gradient `dy` of its result.
template <class T>
void silu_mul_grad(View<const T> dy, View<const T> g, View<const T> u, View<T> dg, View<T> du);
Cost silu_mul_grad_cost(Index count, Index element_size);

/// y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the tanh form of GELU.
template <class T>
void gelu(View<const T> x, View<T> y);
Cost gelu_cost(Index count, Index element_size);

/// The gradient of gelu for the gradient `dy` of its result.
template <class T>
void gelu_grad(View<const T> dy, View<const T> x, View<T> dx);
Cost gelu_grad_cost(Index count, Index element_size);

/// Every element of `out` becomes `value`.
template <class T>
void fill(View<T> out, T value);
Cost fill_cost(Index count, Index element_size);

}  // namespace shardline::kernels
