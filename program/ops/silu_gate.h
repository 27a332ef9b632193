#pragma once

#include "program/ops/gated.h"

namespace shardline {

/// The gate silu(g) u of gated.h.
struct SiluGate {
  static constexpr const char* kName = "silu_mul";
  static constexpr const char* kGradName = "silu_mul_grad";
  static constexpr Index kFlops = 6;
  static constexpr Index kGradFlops = 11;

  template <class T>
  [[gnu::always_inline]] static kernels::Lanes<T> share(const kernels::Lanes<T>& g) {
    return kernels::sigmoid<T>(g);
  }
  template <class T>
  [[gnu::always_inline]] static GateGradients<T> gradients(const kernels::Lanes<T>& dy, const kernels::Lanes<T>& g,
                                                           const kernels::Lanes<T>& u) {
    const kernels::Lanes<T> s = kernels::sigmoid<T>(g);
    const kernels::Lanes<T> incoming = dy * s;
    return {incoming * u * (T(1) + g * (T(1) - s)), incoming * g};
  }
};

}  // namespace shardline
