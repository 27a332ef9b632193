#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

// Products of the tokens of each expert with its weights (book section 4.4.1). Arrays xs[E, B, C, I] have C places for
// each expert and sequence, of which the first taken[e, b] hold tokens. The others are neither read nor written.
// `places` is the part of C in the arrays of a call. T is BFloat16, float or double; sums of bf16 are in f32.
namespace shardline::kernels {

/// y[E, B, C, J] = sum over I of x[E, B, C, I] w[E, I, J]; of w[E, J, I] if `transposed`.
template <class T>
void expert_product(View<const T> x, View<const T> w, bool transposed, View<const std::int32_t> taken_EB, Range places,
                    View<T> y);

/// dw[E, I, J] = sum over B and the places that are taken of x[E, B, C, I] dy[E, B, C, J].
template <class T>
void expert_weight_grad(View<const T> x, View<const T> dy, View<const std::int32_t> taken_EB, Range places,
                        View<T> dw_EIJ);

/// Two operations for each of `rows` places that are taken and each of `in` times `out`; weights of `experts`, and what
/// the rows read and write.
Cost expert_product_cost(double rows, Index experts, Index in, Index out, Index element_size);

}  // namespace shardline::kernels
