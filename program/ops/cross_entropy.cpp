#include "program/ops/cross_entropy.h"

#include <algorithm>

#include "kernels/cross_entropy.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kRowMax{
    .name = "row_max",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::row_max(call.in(0), call.sum_out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::row_max_cost(block.shape(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_results = {0},
    .strips = true,
};

constexpr Kernel kSumExp{
    .name = "sum_exp",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::sum_exp(call.in(0), call.sum_in(1), call.sum_out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::sum_exp_cost(block.shape(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_operands = {1},
    .sum_results = {0},
    .strips = true,
};

constexpr Kernel kPick{
    .name = "pick",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::pick(call.in(0), call.ids(1), block.last_range(), call.sum_out(0));
          });
        },
    .cost = [](const PhaseBlock& block) { return kernels::pick_cost(block.elements(1), block.element_size()); },
    .types = KernelTypes::stored,
    .sum_results = {0},
    .strips = true,
};

constexpr Kernel kNegativeLogLikelihood{
    .name = "negative_log_likelihood",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::negative_log_likelihood(call.in(0), call.in(1), call.in(2), call.ids(3), block.constant("scale"),
                                             call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::negative_log_likelihood_cost(block.elements(0), block.element_size());
        },
};

constexpr Kernel kCrossEntropyGrad{
    .name = "cross_entropy_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::cross_entropy_grad(call.in(0), call.ids(1), call.sum_in(2), call.sum_in(3), call.sum_in(4),
                                        block.last_range(), block.constant("scale"), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) { return kernels::cross_entropy_grad_cost(block.shape(0), block.element_size()); },
    .types = KernelTypes::stored,
    .sum_operands = {2, 3, 4},
    .strips = true,
};

void differentiate_cross_entropy(Gradients& gradients, const Operation& forward, ArrayId dloss) {
  const ArrayId logits = forward.operands[0];
  const ArrayId labels = forward.operands[1];
  const ArrayId max = forward.results[1];
  const ArrayId sum = forward.results[2];
  const ArrayId dlogits = gradients.contribution(logits);
  Builder(gradients.program(), "cross_entropy_grad")
      .phase(kCrossEntropyGrad, {logits, labels, max, sum, dloss}, {dlogits})
      .linear_in({dloss})
      .constants(forward.constants)
      .append({logits, labels, max, sum, dloss}, {dlogits});
  gradients.give(logits, dlogits);
}

ArrayId sample_cross_entropy(Program& program) {
  const ArrayId logits = program.add_input("logits", {"B", "T", "V"}, Role::activation);
  return cross_entropy(program, "loss", logits, program.add_input("labels", {"B", "T"}, Role::tokens));
}

}  // namespace

ArrayId cross_entropy(Program& program, const std::string& name, ArrayId logits, ArrayId labels, Index parts) {
  const Dims tokens = leading(program.array(logits).dims);
  const ArrayId loss = program.add_array(name, {}, Role::whole);
  const ArrayId max = add_sums(program, name + ".max", tokens);
  program.array(max).reduce = ReduceOp::max;
  const ArrayId sum = add_sums(program, name + ".sum", tokens);
  const ArrayId picked = add_sums(program, name + ".picked", tokens);
  const auto count = static_cast<double>(std::max<Index>(1, element_count(program.array(labels).shape)));
  Builder(program, "cross_entropy")
      .phase(kRowMax, {logits}, {max})
      .phase(kSumExp, {logits, max}, {sum})
      .phase(kPick, {logits, labels}, {picked})
      .phase(kNegativeLogLikelihood, {sum, max, picked, labels}, {loss})
      .constants({{"scale", 1.0 / (count * static_cast<double>(parts))}})
      .append({logits, labels}, {loss, max, sum});
  return loss;
}

OperationKind cross_entropy_kind() {
  return {.name = "cross_entropy",
          .derivative = differentiate_cross_entropy,
          .sample = sample_cross_entropy,
          .sample_sizes = {{"B", 1}, {"T", 128}, {"V", 512}}};
}

}  // namespace shardline
