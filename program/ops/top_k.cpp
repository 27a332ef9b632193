#include "program/ops/top_k.h"

#include <algorithm>

#include "kernels/experts/routing.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kTopK{
    .name = "top_k",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::top_k(call.in(0), call.out(0), arrays.results[1]->view<std::int32_t>());
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          const Index chosen = block.range("J").size();
          const Index tokens = block.elements(0) / std::max<Index>(1, block.range("R").size());
          return kernels::top_k_cost(block.elements(0), tokens * chosen, chosen, block.element_size());
        },
};

constexpr Kernel kTopKGrad{
    .name = "top_k_grad",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_elements(arrays, [](const auto& call) {
            kernels::top_k_grad(call.in(0), call.in(1), call.in(2), call.ids(3), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::top_k_grad_cost(block.elements(1), block.elements(0), block.element_size());
        },
};

void differentiate_top_k(Gradients& gradients, const Operation& forward, ArrayId dgate) {
  const ArrayId probs = forward.operands[0];
  const ArrayId gate = forward.results[0];
  const ArrayId choice = forward.results[1];
  const ArrayId dprobs = gradients.contribution(probs);
  Builder(gradients.program(), "top_k_grad")
      .phase(kTopKGrad, {dgate, probs, gate, choice}, {dprobs})
      .whole({"R", "J"})
      .linear_in({dgate})
      .append({dgate, probs, gate, choice}, {dprobs});
  gradients.give(probs, dprobs);
}

ArrayId sample_top_k(Program& program) {
  const ArrayId probs = program.add_input("probs", {"B", "T", "R"}, Role::activation);
  program.array(probs).dtype = sum_type(program.dtype);
  return top_k(program, "gate", probs).gate;
}

}  // namespace

ExpertRouting top_k(Program& program, const std::string& name, ArrayId probs) {
  Dims dims = leading(program.array(probs).dims);
  dims.emplace_back("J");
  ExpertRouting routing;
  routing.gate = add_sums(program, name, dims);
  routing.choice = add_integers(program, name + ".choice", dims);
  Builder(program, "top_k")
      .phase(kTopK, {probs}, {routing.gate, routing.choice})
      .whole({"R", "J"})
      .append({probs}, {routing.gate, routing.choice});
  return routing;
}

OperationKind top_k_kind() {
  return {.name = "top_k",
          .derivative = differentiate_top_k,
          .sample = sample_top_k,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}, {"J", 2}}};
}

}  // namespace shardline
