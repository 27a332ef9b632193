#include "program/ops/descent.h"

#include "kernels/descent.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kDescent{
    .name = "descent",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(
              arrays, [](const auto& call) { kernels::descent(call.in(0), call.in(1), call.scalar(2), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::descent_cost(block.elements(0), block.operand_size(0), block.operand_size(1));
        },
    .in_place = {0},
};

ArrayId sample_descent(Program& program) {
  const ArrayId w = program.add_input("w", {"I", "J"}, Role::parameter);
  const ArrayId g = program.add_input("g", {"I", "J"}, Role::gradient);
  program.array(w).dtype = program.array(g).dtype = sum_type(program.dtype);
  descent(program, w, g, program.add_input("learning_rate", {}, Role::whole));
  return program.find("w'");
}

}  // namespace

void descent(Program& program, ArrayId parameter, ArrayId gradient, ArrayId learning_rate) {
  const Array& old = program.array(parameter);
  const ArrayId made = add_like(program, old.name + "'", parameter, old.role);
  program.updates.emplace_back(parameter, made);
  Builder(program, "descent")
      .phase(kDescent, {parameter, gradient, learning_rate}, {made})
      .append({parameter, gradient, learning_rate}, {made});
}

OperationKind descent_kind() {
  return {.name = "descent", .sample = sample_descent, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
