#pragma once

#include <cstdint>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

// Tokens to the places of their experts, and back (book section 4.4.1). An array xs[E, B, C, D] has C places for each
// expert and sequence. The first taken[e, b] of them hold tokens; what stands in the others is never read.
namespace shardline::kernels {

/// Where tokens have places. `experts` and `places` are the parts of E and C in the arrays of a call.
struct Places {
  View<const std::int32_t> choice_BTJ;  ///< the experts of each token
  View<const std::int32_t> slot_BTJ;    ///< the place with each of them, or -1
  Range experts;
  Range places;
};

/// The places of `range` that are taken, if of all places the first `taken` are.
inline Index taken_of(std::int32_t taken, Range range) {
  const Index end = taken < range.end ? taken : range.end;
  return end > range.begin ? end - range.begin : 0;
}

/// xs[E, B, C, D]: n[B, T, D] at the places of its tokens. If `partial`, tokens of other ranks have places too: all
/// others are zero here, and the arrays of the ranks sum to the whole.
template <class T>
void dispatch(View<const T> n_BTD, const Places& places, bool partial, View<T> xs);

/// dn[B, T, D]: the sum of dxs[E, B, C, D] over the places of each token, in the order of its choices.
template <class T>
void dispatch_grad(View<const T> dxs, const Places& places, View<T> dn_BTD);

/// y[B, T, D]: the sum of gate[B, T, J] ys[E, B, C, D] over the places of each token, in the order of its choices. In
/// bf16 the sum is in f32 and rounded once.
template <class T>
void combine(View<const T> ys, View<const SumOf<T>> gate_BTJ, const Places& places, View<T> y_BTD);

/// The gradients of combine(): dys at the places of tokens is gate dy, and dgate[B, T, J] the sum over D of dy ys, zero
/// without a place. `partial` as in dispatch().
template <class T>
void combine_grad(View<const T> dy_BTD, View<const T> ys, View<const SumOf<T>> gate_BTJ, const Places& places,
                  bool partial, View<T> dys, View<SumOf<T>> dgate_BTJ);

/// Costs of `rows` places that are taken, of `width` elements each.
Cost dispatch_cost(double rows, Index width, Index element_size);
Cost combine_cost(double rows, Index tokens, Index width, Index element_size);
Cost combine_grad_cost(double rows, Index tokens, Index width, Index element_size);

}  // namespace shardline::kernels
