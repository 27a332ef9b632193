#include "program/ops/balance_loss.h"

#include <algorithm>

#include "kernels/experts/routing.h"
#include "program/ops/expert_places.h"
#include "program/ops/slots.h"
#include "program/ops/top_k.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr const char* kScale = "scale";

constexpr Kernel kBalanceLoss{
    .name = "balance_loss",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::balance_loss(call.in(0), call.ids(1), block.constant(kScale), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::balance_loss_cost(block.elements(0), block.elements(1), block.element_size());
        },
};

constexpr Kernel kBalanceLossGrad{
    .name = "balance_loss_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::balance_loss_grad(call.ids(0), call.in(1), block.constant(kScale), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          const Index elements = block.elements(0) * block.range("T").size();
          return kernels::balance_loss_cost(elements, block.elements(0), block.element_size());
        },
};

void differentiate_balance_loss(Gradients& gradients, const Operation& forward, ArrayId dloss) {
  const ArrayId probs = forward.operands[0];
  const ArrayId load = forward.operands[1];
  const ArrayId dprobs = gradients.contribution(probs);
  Builder(gradients.program(), "balance_loss_grad")
      .phase(kBalanceLossGrad, {load, dloss}, {dprobs})
      .whole({"R"})
      .linear_in({dloss})
      .constants(forward.constants)
      .append({load, dloss}, {dprobs});
  gradients.give(probs, dprobs);
}

ArrayId sample_balance_loss(Program& program) {
  const ArrayId probs = program.add_input("probs", {"B", "T", "R"}, Role::activation);
  program.array(probs).dtype = sum_type(program.dtype);
  ExpertRouting routing = top_k(program, "gate", probs);
  slots(program, "slot", routing, program.add_input("positions", {"T"}, Role::positions));
  return balance_loss(program, "balance", probs, routing.load, 1);
}

}  // namespace

ArrayId balance_loss(Program& program, const std::string& name, ArrayId probs, ArrayId load, double weight,
                     Index parts) {
  const Shape& shape = program.array(probs).shape;
  const auto sequences = static_cast<double>(std::max<Index>(1, shape.at(0)));
  const auto tokens = static_cast<double>(std::max<Index>(1, shape.at(1)));
  const double scale =
      weight * static_cast<double>(shape.at(2)) / (tokens * tokens * sequences * static_cast<double>(parts));
  const ArrayId loss = add_sums(program, name, {});
  Builder(program, "balance_loss")
      .phase(kBalanceLoss, {probs, load}, {loss})
      .whole({"R"})
      .linear_in({probs})
      .constants({{kScale, scale}})
      .append({probs, load}, {loss});
  return loss;
}

OperationKind balance_loss_kind() {
  return {.name = "balance_loss",
          .derivative = differentiate_balance_loss,
          .sample = sample_balance_loss,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}, {"E", 32}, {"J", 2}, {"C", 20}}};
}

}  // namespace shardline
