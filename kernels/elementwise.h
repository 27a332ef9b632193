#pragma once

#include <span>

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

/// Elementwise operations on elements T: BFloat16 (computed in float and rounded once), float or double. All arrays of
/// a call have the same element count, else Error. A result may be the same array as an operand, but must not overlap
/// it partly.
namespace shardline::kernels {

/// out = terms[0] + terms[1] + ..., added in this order. At least one term.
template <class T>
void add(std::span<const View<const T>> terms, View<T> out);
Cost add_cost(Index terms, Index count, Index element_size);

/// Every element of `out` becomes `value`.
template <class T>
void fill(View<T> out, T value);
Cost fill_cost(Index count, Index element_size);

}  // namespace shardline::kernels
