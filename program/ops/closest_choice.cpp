#include "program/ops/closest_choice.h"

#include "kernels/experts/routing.h"
#include "program/ops/top_k.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kClosestChoice{
    .name = "closest_choice",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays,
                        [](const auto& call) { kernels::closest_choice(call.in(0), call.ids(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::closest_choice_cost(block.elements(0), block.elements(1), block.element_size());
        },
};

ArrayId sample_closest_choice(Program& program) {
  const ArrayId probs = program.add_input("probs", {"B", "T", "R"}, Role::activation);
  program.array(probs).dtype = sum_type(program.dtype);
  return closest_choice(program, "closest", probs, top_k(program, "gate", probs));
}

}  // namespace

ArrayId closest_choice(Program& program, const std::string& name, ArrayId probs, const ExpertRouting& routing) {
  const ArrayId closest = add_sums(program, name, {});
  program.array(closest).reduce = ReduceOp::max;
  Builder(program, "closest_choice")
      .phase(kClosestChoice, {probs, routing.choice}, {closest})
      .whole({"R", "J"})
      .append({probs, routing.choice}, {closest});
  return closest;
}

OperationKind closest_choice_kind() {
  return {.name = "closest_choice",
          .sample = sample_closest_choice,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}, {"J", 2}}};
}

}  // namespace shardline
