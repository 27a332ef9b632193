#include "program/ops/attention.h"

#include <algorithm>

#include "kernels/attention.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

kernels::AttentionOptions options_of_attention(const PhaseBlock& block) {
  return {block.range("T").begin, block.range("S").begin};
}

using CostFormula = kernels::Cost (*)(const Shape&, const Shape&, const kernels::AttentionOptions&, Index);

/// The cost of one whole sequence, times the sequences that the tokens of the block form.
kernels::Cost cost_in_sequences(const PhaseBlock& block, Index sequence, CostFormula cost_of) {
  Shape q = block.shape(0);
  Shape k = block.shape(1);
  const double sequences = static_cast<double>(q[0] * q[1]) / static_cast<double>(sequence);
  q[0] = k[0] = 1;
  q[1] = k[1] = sequence;
  const kernels::Cost one = cost_of(q, k, {}, block.element_size());
  return {one.flops * sequences, one.bytes * sequences, one.parts * sequences};
}

constexpr Kernel kAttention{
    .name = "attention",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::attention(call.in(0), call.in(1), call.in(2), options_of_attention(block), call.out(0),
                               call.sum_out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::attention_cost(block.shape(0), block.shape(1), options_of_attention(block),
                                         block.element_size());
        },
    .cost_in_sequences = [](const PhaseBlock& block,
                            Index sequence) { return cost_in_sequences(block, sequence, kernels::attention_cost); },
    .types = KernelTypes::stored,
    .sum_results = {1},
};

constexpr Kernel kAttentionGrad{
    .name = "attention_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::attention_grad(call.in(0), call.in(1), call.in(2), call.in(3), call.sum_in(4), call.in(5),
                                    options_of_attention(block), call.out(0), call.out(1), call.out(2));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::attention_grad_cost(block.shape(0), block.shape(1), options_of_attention(block),
                                              block.element_size());
        },
    .cost_in_sequences =
        [](const PhaseBlock& block, Index sequence) {
          return cost_in_sequences(block, sequence, kernels::attention_grad_cost);
        },
    .types = KernelTypes::stored,
    .sum_operands = {4},
};

/// The array with its dim T called S: the index of keys.
Term keys(const Program& program, ArrayId array) {
  Dims dims = program.array(array).dims;
  std::replace(dims.begin(), dims.end(), std::string("T"), std::string("S"));
  return {array, dims};
}

void differentiate_attention(Gradients& gradients, const Operation& forward, ArrayId d_o) {
  Program& program = gradients.program();
  const ArrayId q = forward.operands[0];
  const ArrayId k = forward.operands[1];
  const ArrayId v = forward.operands[2];
  const ArrayId o = forward.results[0];
  const ArrayId lse = forward.results[1];
  const std::vector<ArrayId> made = gradients.contributions(forward.operands);
  Builder builder(program, "attention_grad");
  const auto own = [&](ArrayId array) { return builder.named(array); };
  builder
      .phase_of_terms(kAttentionGrad, {own(q), keys(program, k), keys(program, v), own(o), own(lse), own(d_o)},
                      {own(made[0]), keys(program, made[1]), keys(program, made[2])})
      .whole({"S", "H"})
      .linear_in({d_o})
      .append({q, k, v, o, lse, d_o}, made);
  gradients.give_all(forward.operands, made);
}

ArrayId sample_attention(Program& program) {
  const ArrayId q = program.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = program.add_input("k", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId v = program.add_input("v", {"B", "T", "K", "H"}, Role::activation);
  return attention(program, "o", q, k, v);
}

}  // namespace

ArrayId attention(Program& program, const std::string& name, ArrayId q, ArrayId k, ArrayId v) {
  const Dims dims = program.array(q).dims;
  const ArrayId o = program.add_array(name, dims);
  const ArrayId lse = add_sums(program, name + ".lse", leading(dims));
  Builder builder(program, "attention");
  builder
      .phase_of_terms(kAttention, {builder.named(q), keys(program, k), keys(program, v)},
                      {builder.named(o), builder.named(lse)})
      .whole({"S", "H"})
      .append({q, k, v}, {o, lse});
  return o;
}

OperationKind attention_kind() {
  return {.name = "attention",
          .derivative = differentiate_attention,
          .sample = sample_attention,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"K", 2}, {"G", 2}, {"H", 64}}};
}

}  // namespace shardline
