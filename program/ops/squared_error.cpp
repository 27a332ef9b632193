#include "program/ops/squared_error.h"

#include <algorithm>

#include "kernels/squared_error.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kSquaredError{
    .name = "squared_error",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::squared_error(call.in(0), call.in(1), block.constant("scale"), call.sum_out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) { return kernels::squared_error_cost(block.elements(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_results = {0},
};

constexpr Kernel kSquaredErrorGrad{
    .name = "squared_error_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::squared_error_grad(call.in(0), call.in(1), call.scalar(2), block.constant("scale"), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::squared_error_grad_cost(block.elements(0), block.element_size());
        },
    .types = KernelTypes::stored,
    .sum_operands = {2},
    .in_place = {0},
    .strips = true,
};

/// The error is symmetric in its operands, and so is its derivative.
void differentiate_squared_error(Gradients& gradients, const Operation& forward, ArrayId dloss) {
  for (const std::size_t of : {0U, 1U}) {
    const ArrayId array = forward.operands[of];
    if (!gradients.needed(array)) continue;
    const ArrayId other = forward.operands[1 - of];
    const ArrayId made = gradients.contribution(array);
    Builder(gradients.program(), "squared_error_grad")
        .phase(kSquaredErrorGrad, {array, other, dloss}, {made})
        .linear_in({dloss})
        .constants(forward.constants)
        .append({array, other, dloss}, {made});
    gradients.give(array, made);
  }
}

ArrayId sample_squared_error(Program& program) {
  const ArrayId out = program.add_input("out", {"I", "J"}, Role::activation);
  return squared_error(program, "loss", out, program.add_input("target", {"I", "J"}, Role::activation));
}

}  // namespace

ArrayId squared_error(Program& program, const std::string& name, ArrayId out, ArrayId target, Index parts) {
  const ArrayId loss = program.add_array(name, {}, Role::whole);
  const auto count = static_cast<double>(std::max<Index>(1, element_count(program.array(out).shape)));
  Builder(program, "squared_error")
      .phase(kSquaredError, {out, target}, {loss})
      .constants({{"scale", 1.0 / (count * static_cast<double>(parts))}})
      .append({out, target}, {loss});
  return loss;
}

OperationKind squared_error_kind() {
  return {.name = "squared_error",
          .derivative = differentiate_squared_error,
          .sample = sample_squared_error,
          .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
