#include "program/ops/gelu_mul.h"

#include "program/ops/gated.h"

namespace shardline {
namespace {

using kernels::Lanes;

struct GeluMul {
  static constexpr const char* kName = "gelu_mul";
  static constexpr const char* kGradName = "gelu_mul_grad";
  static constexpr Index kFlops = 11;
  static constexpr Index kGradFlops = 21;

  template <class T>
  [[gnu::always_inline]] static Lanes<T> share(const Lanes<T>& g) {
    return kernels::gelu_sigmoid<T>(g);
  }
  template <class T>
  [[gnu::always_inline]] static GateGradients<T> gradients(const Lanes<T>& dy, const Lanes<T>& g, const Lanes<T>& u) {
    const Lanes<T> s = kernels::gelu_sigmoid<T>(g);
    return {dy * u * kernels::gelu_slope<T>(g, s), dy * g * s};
  }
};

}  // namespace

ArrayId gelu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  return append_gated<GeluMul>(program, name, g, u);
}

OperationKind gelu_mul_kind() { return gated_kind<GeluMul>(); }

}  // namespace shardline
