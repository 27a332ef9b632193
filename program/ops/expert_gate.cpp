#include "program/ops/expert_gate.h"

#include "program/ops/expert_places.h"
#include "program/ops/silu_gate.h"
#include "program/ops/slots.h"

namespace shardline {
namespace {

/// Calls body(begin, count) for the elements of each expert and sequence that are taken, in an array [E, B, C, F].
template <class Body>
void for_each_taken(const PhaseBlock& block, View<const std::int32_t> taken_EB, Body body) {
  const Range places = block.range("C");
  const Index width = block.range("F").size();
  for (Index i = 0; i < taken_EB.size(); ++i) {
    body(i * places.size() * width, kernels::taken_of(taken_EB[i], places) * width);
  }
}

template <class T>
View<T> part_of(View<T> array, Index begin, Index count) {
  return {array.data + begin, {count}};
}

constexpr Kernel kExpertGate{
    .name = "expert_gate",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            for_each_taken(block, call.ids(2), [&](Index begin, Index count) {
              gated_elements<SiluGate>(part_of(call.in(0), begin, count), part_of(call.in(1), begin, count),
                                       part_of(call.out(0), begin, count));
            });
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          const auto elements = static_cast<Index>(taken_rows(block)) * block.range("F").size();
          return kernels::elementwise_cost(SiluGate::kFlops, 3, elements, block.element_size());
        },
    .types = KernelTypes::stored,
};

constexpr Kernel kExpertGateGrad{
    .name = "expert_gate_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            for_each_taken(block, call.ids(3), [&](Index begin, Index count) {
              gated_grad_elements<SiluGate>(part_of(call.in(0), begin, count), part_of(call.in(1), begin, count),
                                            part_of(call.in(2), begin, count), part_of(call.out(0), begin, count),
                                            part_of(call.out(1), begin, count));
            });
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          const auto elements = static_cast<Index>(taken_rows(block)) * block.range("F").size();
          return kernels::elementwise_cost(SiluGate::kGradFlops, 5, elements, block.element_size());
        },
    .types = KernelTypes::stored,
};

void differentiate_expert_gate(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId g = forward.operands[0];
  const ArrayId u = forward.operands[1];
  const std::vector<ArrayId> operands{dy, g, u, forward.operands[2]};
  const std::vector<ArrayId> made = gradients.contributions({g, u});
  Builder(gradients.program(), "expert_gate_grad")
      .phase(kExpertGateGrad, operands, made)
      .linear_in({dy})
      .constants(forward.constants)
      .append(operands, made);
  gradients.give_all({g, u}, made);
}

ArrayId sample_expert_gate(Program& program) {
  const ArrayId g = program.add_input("g", {"E", "B", "C", "F"}, Role::activation);
  const ArrayId u = program.add_input("u", {"E", "B", "C", "F"}, Role::activation);
  const ExpertRouting routing = sample_routing(program);
  return expert_gate(program, "y", g, u, routing.taken);
}

}  // namespace

ArrayId expert_gate(Program& program, const std::string& name, ArrayId g, ArrayId u, ArrayId taken) {
  const ArrayId y = add_like(program, name, g);
  const std::vector<ArrayId> operands{g, u, taken};
  Builder(program, "expert_gate")
      .phase(kExpertGate, operands, {y})
      .linear_in({u})
      .constants({{kTakenShare, taken_share(program)}})
      .append(operands, {y});
  return y;
}

OperationKind expert_gate_kind() {
  return {.name = "expert_gate",
          .derivative = differentiate_expert_gate,
          .sample = sample_expert_gate,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"F", 128}, {"R", 4}, {"E", 4}, {"J", 2}, {"C", 64}}};
}

}  // namespace shardline
