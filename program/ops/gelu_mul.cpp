#include "program/ops/gelu_mul.h"

#include "kernels/support/activation.h"
#include "kernels/support/rows.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

using kernels::Lanes;

template <class T>
void gelu_mul_elements(View<const T> g, View<const T> u, View<T> y) {
  const Index size = y.size();
  kernels::check_elements("gelu_mul", "g", g.shape, size);
  kernels::check_elements("gelu_mul", "u", u.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = kernels::load(g.data + begin, count);
    const Lanes<T> gelu = gate * kernels::gelu_sigmoid<T>(gate);
    const Lanes<T> value = gelu * kernels::load(u.data + begin, count);
    kernels::store(value, y.data + begin, count);
  });
}

template <class T>
void gelu_mul_grad_elements(View<const T> dy, View<const T> g, View<const T> u, View<T> dg, View<T> du) {
  const Index size = dy.size();
  kernels::check_elements("gelu_mul_grad", "g", g.shape, size);
  kernels::check_elements("gelu_mul_grad", "u", u.shape, size);
  kernels::check_elements("gelu_mul_grad", "dg", dg.shape, size);
  kernels::check_elements("gelu_mul_grad", "du", du.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = kernels::load(g.data + begin, count);
    const Lanes<T> s = kernels::gelu_sigmoid<T>(gate);
    const Lanes<T> incoming = kernels::load(dy.data + begin, count);
    const Lanes<T> d_gate = incoming * kernels::load(u.data + begin, count) * kernels::gelu_slope<T>(gate, s);
    const Lanes<T> d_up = incoming * gate * s;
    kernels::store(d_gate, dg.data + begin, count);
    kernels::store(d_up, du.data + begin, count);
  });
}

constexpr Kernel kGeluMul{
    .name = "gelu_mul",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) { gelu_mul_elements(call.in(0), call.in(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(11, 3, block.elements(0), block.element_size());
        },
};

constexpr Kernel kGeluMulGrad{
    .name = "gelu_mul_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) {
            gelu_mul_grad_elements(call.in(0), call.in(1), call.in(2), call.out(0), call.out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(21, 5, block.elements(0), block.element_size());
        },
};

void differentiate_gelu_mul(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId g = forward.operands[0];
  const ArrayId u = forward.operands[1];
  const std::vector<ArrayId> made = gradients.contributions(forward.operands);
  Builder(gradients.program(), "gelu_mul_grad")
      .phase(kGeluMulGrad, {dy, g, u}, made)
      .linear_in({dy})
      .append({dy, g, u}, made);
  gradients.give_all(forward.operands, made);
}

ArrayId sample_gelu_mul(Program& program) {
  program.sizes = {{"I", 64}, {"J", 512}};
  const ArrayId g = program.add_input("g", {"I", "J"}, Role::activation);
  const ArrayId u = program.add_input("u", {"I", "J"}, Role::activation);
  return gelu_mul(program, "y", g, u);
}

}  // namespace

ArrayId gelu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  const ArrayId y = add_like(program, name, g);
  Builder(program, "gelu_mul").phase(kGeluMul, {g, u}, {y}).linear_in({u}).append({g, u}, {y});
  return y;
}

OperationKind gelu_mul_kind() {
  return {.name = "gelu_mul", .derivative = differentiate_gelu_mul, .sample = sample_gelu_mul};
}

}  // namespace shardline
