#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

struct RopeOptions {
  Index time_dim = 1;    ///< the dim of x that is T; not the last
  Range positions;       ///< the positions of this block of T in the whole sequence
  double theta = 10000;  ///< base of the wavelengths
  int sign = 1;          ///< +1 turns forward; -1 turns back, as the gradient needs
};

/// Rotary position embedding in the rotate-half layout of Hugging Face. The pair (x[i], x[i + H/2])
/// of the last dim turns by position theta^(-2i/H). x is [..., T, ..., H]; H is even and not split.
/// y has the same shape and may be x itself. S BFloat16, float or double; angles in
/// f64. Throws Error if H is
/// odd, if time_dim is not before the last dim, or if the extent of T is not that of `positions`.
template <class S>
void rope(View<const S> x, const RopeOptions& options, View<S> y);

/// Three operations per element; reads x, writes y.
Cost rope_cost(Index count, Index element_size);

}  // namespace shardline::kernels
