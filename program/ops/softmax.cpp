#include "program/ops/softmax.h"

#include "kernels/experts/routing.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kSoftmax{
    .name = "softmax",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) { kernels::softmax(call.in(0), call.out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::softmax_cost(block.elements(0), block.element_size()); },
};

constexpr Kernel kSoftmaxGrad{
    .name = "softmax_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) { kernels::softmax_grad(call.in(0), call.in(1), call.out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::softmax_grad_cost(block.elements(0), block.element_size()); },
};

void differentiate_softmax(Gradients& gradients, const Operation& forward, ArrayId dp) {
  const ArrayId x = forward.operands[0];
  const ArrayId p = forward.results[0];
  const ArrayId dx = gradients.contribution(x);
  Builder(gradients.program(), "softmax_grad")
      .phase(kSoftmaxGrad, {dp, p}, {dx})
      .whole({gradients.program().array(x).dims.back()})
      .linear_in({dp})
      .append({dp, p}, {dx});
  gradients.give(x, dx);
}

ArrayId sample_softmax(Program& program) {
  const ArrayId x = program.add_input("x", {"B", "T", "R"}, Role::activation);
  program.array(x).dtype = sum_type(program.dtype);
  return softmax(program, "p", x);
}

}  // namespace

ArrayId softmax(Program& program, const std::string& name, ArrayId x) {
  const ArrayId p = add_like(program, name, x);
  Builder(program, "softmax").phase(kSoftmax, {x}, {p}).whole({program.array(x).dims.back()}).append({x}, {p});
  return p;
}

OperationKind softmax_kind() {
  return {.name = "softmax",
          .derivative = differentiate_softmax,
          .sample = sample_softmax,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}}};
}

}  // namespace shardline
