#pragma once

#include <string>
#include <vector>

#include "kernels/support/activation.h"
#include "kernels/support/rows.h"
#include "program/ops/builder.h"
#include "program/ops/derivative.h"
#include "program/ops/table.h"
#include "program/ops/typed_call.h"

/// The frame of the operations y = g s(g) u, gates of an MLP. Such an operation is a struct `Gate` with
///
///   kName, kGradName         names of the operation and of its derivative
///   kFlops, kGradFlops       FLOPs per element of each
///   share<T>(g)              s(g)
///   gradients<T>(dy, g, u)   of g and of u
namespace shardline {

template <class T>
struct GateGradients {
  kernels::Lanes<T> g;
  kernels::Lanes<T> u;
};

template <class Gate, class T>
void gated_elements(View<const T> g, View<const T> u, View<T> y) {
  const Index size = y.size();
  kernels::check_elements(Gate::kName, "g", g.shape, size);
  kernels::check_elements(Gate::kName, "u", u.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const kernels::Lanes<SumOf<T>> gate = kernels::load(g.data + begin, count);
    const kernels::Lanes<SumOf<T>> value =
        gate * Gate::template share<SumOf<T>>(gate) * kernels::load(u.data + begin, count);
    kernels::store(value, y.data + begin, count);
  });
}

template <class Gate, class T>
void gated_grad_elements(View<const T> dy, View<const T> g, View<const T> u, View<T> dg, View<T> du) {
  const Index size = dy.size();
  kernels::check_elements(Gate::kGradName, "g", g.shape, size);
  kernels::check_elements(Gate::kGradName, "u", u.shape, size);
  kernels::check_elements(Gate::kGradName, "dg", dg.shape, size);
  kernels::check_elements(Gate::kGradName, "du", du.shape, size);
  kernels::for_lanes(size, [&](Index begin, auto count) {
    const GateGradients<SumOf<T>> gradients =
        Gate::template gradients<SumOf<T>>(kernels::load(dy.data + begin, count), kernels::load(g.data + begin, count),
                                           kernels::load(u.data + begin, count));
    kernels::store(gradients.g, dg.data + begin, count);
    kernels::store(gradients.u, du.data + begin, count);
  });
}

template <class Gate>
constexpr Kernel kGated{
    .name = Gate::kName,
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { gated_elements<Gate>(call.in(0), call.in(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(Gate::kFlops, 3, block.elements(0), block.element_size());
        },
    .types = KernelTypes::stored,
    .strips = true,
};

template <class Gate>
constexpr Kernel kGatedGrad{
    .name = Gate::kGradName,
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            gated_grad_elements<Gate>(call.in(0), call.in(1), call.in(2), call.out(0), call.out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::elementwise_cost(Gate::kGradFlops, 5, block.elements(0), block.element_size());
        },
    .types = KernelTypes::stored,
    .strips = true,
};

/// Appends the operation; linear in u.
template <class Gate>
ArrayId append_gated(Program& program, const std::string& name, ArrayId g, ArrayId u) {
  const ArrayId y = add_like(program, name, g);
  Builder(program, Gate::kName).phase(kGated<Gate>, {g, u}, {y}).linear_in({u}).append({g, u}, {y});
  return y;
}

template <class Gate>
ArrayId sample_gated(Program& program) {
  const ArrayId g = program.add_input("g", {"I", "J"}, Role::activation);
  const ArrayId u = program.add_input("u", {"I", "J"}, Role::activation);
  return append_gated<Gate>(program, "y", g, u);
}

template <class Gate>
void differentiate_gated(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId g = forward.operands[0];
  const ArrayId u = forward.operands[1];
  const std::vector<ArrayId> made = gradients.contributions(forward.operands);
  Builder(gradients.program(), Gate::kGradName)
      .phase(kGatedGrad<Gate>, {dy, g, u}, made)
      .linear_in({dy})
      .append({dy, g, u}, made);
  gradients.give_all(forward.operands, made);
}

/// The row of the operation.
template <class Gate>
OperationKind gated_kind() {
  return {.name = Gate::kName,
          .derivative = differentiate_gated<Gate>,
          .sample = sample_gated<Gate>,
          .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
