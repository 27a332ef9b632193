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

/// An array stored in bf16, in f32 for the time of a call.
class Widened {
 public:
  explicit Widened(View<const BFloat16> from) : shape_(from.shape), elements_(static_cast<std::size_t>(from.size())) {
    std::transform(from.begin(), from.end(), elements_.begin(), [](BFloat16 x) { return static_cast<float>(x); });
  }
  explicit Widened(const Shape& shape) : shape_(shape), elements_(static_cast<std::size_t>(element_count(shape))) {}

  View<const float> view() const { return {elements_.data(), shape_}; }
  View<float> view() { return {elements_.data(), shape_}; }
  void round_into(View<BFloat16> to) const {
    std::transform(elements_.begin(), elements_.end(), to.begin(), [](float x) { return BFloat16(x); });
  }

 private:
  Shape shape_;
  std::vector<float> elements_;
};

template <class T>
void attend(View<const T> q, View<const T> k, View<const T> v, const kernels::AttentionOptions& options, View<T> o,
            View<T> lse) {
  kernels::attention(q, k, v, options, o, lse);
}

void attend(View<const BFloat16> q, View<const BFloat16> k, View<const BFloat16> v,
            const kernels::AttentionOptions& options, View<BFloat16> o, View<float> lse) {
  const Widened wide_q(q), wide_k(k), wide_v(v);
  Widened wide_o(o.shape);
  kernels::attention(wide_q.view(), wide_k.view(), wide_v.view(), options, wide_o.view(), lse);
  wide_o.round_into(o);
}

template <class T>
void attend_back(View<const T> q, View<const T> k, View<const T> v, View<const T> o, View<const T> lse,
                 View<const T> d_o, const kernels::AttentionOptions& options, View<T> dq, View<T> dk, View<T> dv) {
  kernels::attention_grad(q, k, v, o, lse, d_o, options, dq, dk, dv);
}

void attend_back(View<const BFloat16> q, View<const BFloat16> k, View<const BFloat16> v, View<const BFloat16> o,
                 View<const float> lse, View<const BFloat16> d_o, const kernels::AttentionOptions& options,
                 View<BFloat16> dq, View<BFloat16> dk, View<BFloat16> dv) {
  const Widened wide_q(q), wide_k(k), wide_v(v), wide_o(o), wide_d_o(d_o);
  Widened wide_dq(dq.shape), wide_dk(dk.shape), wide_dv(dv.shape);
  kernels::attention_grad(wide_q.view(), wide_k.view(), wide_v.view(), wide_o.view(), lse, wide_d_o.view(), options,
                          wide_dq.view(), wide_dk.view(), wide_dv.view());
  wide_dq.round_into(dq);
  wide_dk.round_into(dk);
  wide_dv.round_into(dv);
}

constexpr Kernel kAttention{
    .name = "attention",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            attend(call.in(0), call.in(1), call.in(2), options_of_attention(block), call.out(0), call.sum_out(1));
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
            attend_back(call.in(0), call.in(1), call.in(2), call.in(3), call.sum_in(4), call.in(5),
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
