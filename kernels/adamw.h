#pragma once

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/view.h"

namespace shardline::kernels {

/// out = the sum of the squares of g: a scalar (shape []), summed in f64. g is stored as S: BFloat16,
/// float or double.
template <class S>
void sum_squares(View<const S> g, View<SumOf<S>> out);

/// Two operations per element; reads g once.
Cost sum_squares_cost(Index count, Index element_size);

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0;  ///< decoupled: multiplies the parameter, not the gradient
  double clip_norm = 0;     ///< largest norm of all gradients together; no clipping if it is not positive
};

/// One AdamW update (Loshchilov and Hutter, "Decoupled Weight Decay Regularization"), T float or double:
///   g' = g min(1, clip_norm / sqrt(norm_squared)), m' = beta1 m + (1 - beta1) g', v' = beta2 v + (1 - beta2) g'^2,
///   p' = p - learning_rate (m' / (1 - beta1^step) / (sqrt(v' / (1 - beta2^step)) + eps) + weight_decay p).
/// `norm_squared` covers all gradients together. `step` counts from 1. All arrays have the same
/// element count, else Error. p_out, m_out and v_out may be p, m and v themselves.
template <class T>
void adamw(const AdamWOptions& options, View<const T> p, View<const T> g, View<const T> m, View<const T> v,
           double norm_squared, double learning_rate, double step, View<T> p_out, View<T> m_out, View<T> v_out);

/// Bytes of an element.
struct AdamWSizes {
  Index parameter = 0;
  Index gradient = 0;
  Index moment = 0;
};

/// 16 operations per element; four arrays read, three written.
Cost adamw_cost(Index count, const AdamWSizes& sizes);

}  // namespace shardline::kernels
