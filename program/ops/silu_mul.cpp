#include "program/ops/silu_mul.h"

#include "program/ops/gated.h"

namespace shardline {
namespace {

using kernels::Lanes;

struct SiluMul {
  static constexpr const char* kName = "silu_mul";
  static constexpr const char* kGradName = "silu_mul_grad";
  static constexpr Index kFlops = 6;
  static constexpr Index kGradFlops = 11;

  template <class T>
  [[gnu::always_inline]] static Lanes<T> share(const Lanes<T>& g) {
    return kernels::sigmoid<T>(g);
  }
  template <class T>
  [[gnu::always_inline]] static GateGradients<T> gradients(const Lanes<T>& dy, const Lanes<T>& g, const Lanes<T>& u) {
    const Lanes<T> s = kernels::sigmoid<T>(g);
    const Lanes<T> incoming = dy * s;
    return {incoming * u * (T(1) + g * (T(1) - s)), incoming * g};
  }
};

}  // namespace

ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  return append_gated<SiluMul>(program, name, g, u);
}

OperationKind silu_mul_kind() { return gated_kind<SiluMul>(); }

}  // namespace shardline
