#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

struct RopeOptions {
  Index time_dim = 1;    ///< which dim of x is T; before the last
  Range positions;       ///< where this block of T lies in the whole sequence
  double theta = 10000;  ///< base of the wavelengths
  int sign = 1;          ///< +1 turns forward; -1 turns back, which is also the gradient
};

/// Rotary position embedding, rotate-half as Hugging Face lays it out: the pair (x[i], x[i + H/2]) of the last dim
/// turns by position theta^(-2i/H). x is [..., T, ..., H] with H even and whole; y has its shape and may be x itself. T
/// float or double; the angles are computed in f64. Throws Error on an odd H, a time_dim that is not before the last
/// dim, or an extent of T that is not that of `positions`.
template <class T>
void rope(View<const T> x, const RopeOptions& options, View<T> y);

/// Three operations per element; x read, y written.
Cost rope_cost(Index count, Index element_size);

}  // namespace shardline::kernels
