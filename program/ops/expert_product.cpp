#include "program/ops/expert_product.h"

#include "kernels/experts/expert_product.h"
#include "program/ops/expert_places.h"
#include "program/ops/slots.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

kernels::Cost cost_of(const PhaseBlock& block, const Shape& weights) {
  return kernels::expert_product_cost(taken_rows(block), weights[0], weights[1], weights[2], block.element_size());
}

template <bool kTransposed>
constexpr Kernel kProduct{
    .name = kTransposed ? "expert_product_back" : "expert_product",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::expert_product(call.in(0), call.in(1), kTransposed, call.ids(2), block.range("C"), call.out(0));
          });
        },
    .cost = [](const PhaseBlock& block) { return cost_of(block, block.shape(1)); },
    .form = KernelForm::products,
    .types = KernelTypes::stored,
};

constexpr Kernel kWeightGrad{
    .name = "expert_weight_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::expert_weight_grad(call.in(0), call.in(1), call.ids(2), block.range("C"), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return cost_of(block, {block.shape(0)[0], block.shape(0)[3], block.shape(1)[3]});
        },
    .form = KernelForm::products,
    .types = KernelTypes::stored,
};

/// Appends the product of operands[0] and operands[1]; operands[2] counts the places. It is linear in each of the two.
void append_product(Program& program, const Kernel& kernel, const std::vector<ArrayId>& operands, ArrayId result) {
  Builder(program, "expert_product")
      .phase(kernel, operands, {result})
      .linear_in({operands[0]})
      .linear_in({operands[1]})
      .constants({{kTakenShare, taken_share(program)}})
      .append(operands, {result});
}

/// The gradient of the weights comes first, so its reduction has more time.
void differentiate_expert_product(Gradients& gradients, const Operation& forward, ArrayId dy) {
  Program& program = gradients.program();
  const ArrayId x = forward.operands[0];
  const ArrayId w = forward.operands[1];
  const ArrayId taken = forward.operands[2];
  if (gradients.needed(w)) {
    const ArrayId dw = gradients.contribution(w);
    append_product(program, kWeightGrad, {x, dy, taken}, dw);
    gradients.give(w, dw);
  }
  if (gradients.needed(x)) {
    const ArrayId dx = gradients.contribution(x);
    append_product(program, kProduct<true>, {dy, w, taken}, dx);
    gradients.give(x, dx);
  }
}

ArrayId sample_expert_product(Program& program) {
  const ArrayId xs = program.add_input("xs", {"E", "B", "C", "D"}, Role::activation);
  const ArrayId w = program.add_input("W", {"E", "D", "F"}, Role::parameter);
  const ExpertRouting routing = sample_routing(program);
  return expert_product(program, "y", xs, w, routing.taken);
}

}  // namespace

ArrayId expert_product(Program& program, const std::string& name, ArrayId x, ArrayId w, ArrayId taken) {
  Dims dims = leading(program.array(x).dims);
  dims.push_back(program.array(w).dims.back());
  const ArrayId y = program.add_array(name, dims);
  program.array(y).dtype = program.array(x).dtype;
  set_taken(program, y, taken);
  append_product(program, kProduct<false>, {x, w, taken}, y);
  return y;
}

OperationKind expert_product_kind() {
  return {.name = "expert_product",
          .derivative = differentiate_expert_product,
          .sample = sample_expert_product,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"D", 128}, {"F", 128}, {"R", 4}, {"E", 4}, {"J", 2}, {"C", 64}}};
}

}  // namespace shardline
