#pragma once

#include "kernels/support/cost.h"
#include "kernels/support/lanes.h"
#include "runtime/base/shape.h"

/// Parts of elementwise activations.
namespace shardline::kernels {

template <class T>
[[gnu::always_inline]] inline Lanes<T> sigmoid(const Lanes<T>& x) {
  return (T(1) + exp_lanes<T>(-x)).inverse();
}

/// 2 sqrt(2/pi), and the weight of the cube. The tanh form of GELU is x sigmoid(2 z), because (1 +
/// tanh(z)) / 2 = sigmoid(2 z).
template <class T>
constexpr T kGeluScale = T(1.5957691216057307117597842397375);
template <class T>
constexpr T kGeluCube = T(0.044715);

/// GELU(x) / x.
template <class T>
[[gnu::always_inline]] inline Lanes<T> gelu_sigmoid(const Lanes<T>& x) {
  return sigmoid<T>(kGeluScale<T> * x * (T(1) + kGeluCube<T> * x.square()));
}

/// The derivative of GELU at x; `s` is gelu_sigmoid(x).
template <class T>
[[gnu::always_inline]] inline Lanes<T> gelu_slope(const Lanes<T>& x, const Lanes<T>& s) {
  const Lanes<T> inner = kGeluScale<T> * (T(1) + T(3) * kGeluCube<T> * x.square());
  return s + x * inner * s * (T(1) - s);
}

/// The cost of `operations` FLOPs per element on `arrays` arrays of `count` elements. An
/// exponential counts as one.
inline Cost elementwise_cost(Index operations, Index arrays, Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(static_cast<double>(operations) * elements),
          Bytes(static_cast<double>(arrays * element_size) * elements)};
}

}  // namespace shardline::kernels
