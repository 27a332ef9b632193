#include "program/ops/silu_mul.h"

#include "kernels/support/activation.h"
#include "kernels/support/rows.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

using kernels::Lanes;

template <class T>
void silu_mul_elements(View<const T> g, View<const T> u, View<T> y) {
  const Index size = y.size();
  kernels::check_elements("silu_mul", "g", g.shape, size);
  kernels::check_elements("silu_mul", "u", u.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = kernels::load(g.data + begin, count);
    const Lanes<T> value = gate * kernels::sigmoid<T>(gate) * kernels::load(u.data + begin, count);
    kernels::store(value, y.data + begin, count);
  });
}

template <class T>
void silu_mul_grad_elements(View<const T> dy, View<const T> g, View<const T> u, View<T> dg, View<T> du) {
  const Index size = dy.size();
  kernels::check_elements("silu_mul_grad", "g", g.shape, size);
  kernels::check_elements("silu_mul_grad", "u", u.shape, size);
  kernels::check_elements("silu_mul_grad", "dg", dg.shape, size);
  kernels::check_elements("silu_mul_grad", "du", du.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const Lanes<T> gate = kernels::load(g.data + begin, count);
    const Lanes<T> s = kernels::sigmoid<T>(gate);
    const Lanes<T> incoming = kernels::load(dy.data + begin, count) * s;
    const Lanes<T> d_gate = incoming * kernels::load(u.data + begin, count) * (T(1) + gate * (T(1) - s));
    const Lanes<T> d_up = incoming * gate;
    kernels::store(d_gate, dg.data + begin, count);
    kernels::store(d_up, du.data + begin, count);
  });
}

constexpr Kernel kSiluMul{
    .name = "silu_mul",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) { silu_mul_elements(call.in(0), call.in(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(6, 3, block.elements(0), block.element_size());
        },
};

constexpr Kernel kSiluMulGrad{
    .name = "silu_mul_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) {
            silu_mul_grad_elements(call.in(0), call.in(1), call.in(2), call.out(0), call.out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(11, 5, block.elements(0), block.element_size());
        },
};

void differentiate_silu_mul(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId g = forward.operands[0];
  const ArrayId u = forward.operands[1];
  const std::vector<ArrayId> made = gradients.contributions(forward.operands);
  Builder(gradients.program(), "silu_mul_grad")
      .phase(kSiluMulGrad, {dy, g, u}, made)
      .linear_in({dy})
      .append({dy, g, u}, made);
  gradients.give_all(forward.operands, made);
}

ArrayId sample_silu_mul(Program& program) {
  program.sizes = {{"I", 64}, {"J", 512}};
  const ArrayId g = program.add_input("g", {"I", "J"}, Role::activation);
  const ArrayId u = program.add_input("u", {"I", "J"}, Role::activation);
  return silu_mul(program, "y", g, u);
}

}  // namespace

ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  const ArrayId y = add_like(program, name, g);
  Builder(program, "silu_mul").phase(kSiluMul, {g, u}, {y}).linear_in({u}).append({g, u}, {y});
  return y;
}

OperationKind silu_mul_kind() {
  return {.name = "silu_mul", .derivative = differentiate_silu_mul, .sample = sample_silu_mul};
}

}  // namespace shardline
