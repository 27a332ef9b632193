#include "program/ops/add_bias.h"

#include <algorithm>

#include "kernels/bias.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr Kernel kAddBias{
    .name = "add_bias",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::add_bias(call.in(0), call.in(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::add_bias_cost(block.elements(0), block.elements(1), block.element_size());
        },
    .types = KernelTypes::stored,
    .strips = true,
};

constexpr Kernel kBiasGrad{
    .name = "bias_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::bias_grad(call.in(0), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          Index row = 1;
          for (const int index : block.phase.result_subscripts[0]) {
            row *= block.ranges[static_cast<std::size_t>(index)].size();
          }
          return kernels::bias_grad_cost(block.elements(0), row, block.element_size());
        },
    .types = KernelTypes::stored,
};

void differentiate_add_bias(Gradients& gradients, const Operation& forward, ArrayId upstream) {
  const ArrayId x = forward.operands[0];
  const ArrayId b = forward.operands[1];
  if (gradients.needed(b)) {
    const ArrayId made = gradients.contribution(b);
    Builder(gradients.program(), "bias_grad")
        .phase(kBiasGrad, {upstream}, {made})
        .linear_in({upstream})
        .append({upstream}, {made});
    gradients.give(b, made);
  }
  if (gradients.needed(x)) gradients.give(x, upstream);
}

ArrayId sample_add_bias(Program& program) {
  const ArrayId x = program.add_input("x", {"B", "T", "K", "H"}, Role::activation);
  return add_bias(program, "y", x, program.add_input("b", {"K", "H"}, Role::parameter));
}

}  // namespace

ArrayId add_bias(Program& program, const std::string& name, ArrayId x, ArrayId b) {
  const Dims& all = program.array(x).dims;
  const Dims& last = program.array(b).dims;
  require(last.size() <= all.size() && std::equal(last.rbegin(), last.rend(), all.rbegin()),
          "add_bias: the dims of {} are not the last dims of {}", to_string(program.array(b)),
          to_string(program.array(x)));
  const ArrayId y = add_like(program, name, x);
  Builder(program, "add_bias").phase(kAddBias, {x, b}, {y}).linear_in({x, b}).append({x, b}, {y});
  return y;
}

OperationKind add_bias_kind() {
  return {.name = "add_bias",
          .derivative = differentiate_add_bias,
          .sample = sample_add_bias,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"K", 4}, {"H", 64}}};
}

}  // namespace shardline
