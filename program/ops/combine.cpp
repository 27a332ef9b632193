#include "program/ops/combine.h"

#include "program/ops/dispatch.h"
#include "program/ops/slots.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

/// `first` is the number of the operand with the choices.
template <class Call>
kernels::Places places_of(const PhaseBlock& block, const Call& call, std::size_t first) {
  return {.choice_BTJ = call.ids(first),
          .slot_BTJ = call.ids(first + 1),
          .experts = block.range("E"),
          .places = block.range("C")};
}

Index tokens_of(const PhaseBlock& block) { return block.range("B").size() * block.range("T").size(); }

constexpr Kernel kCombine{
    .name = "combine",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::combine(call.in(0), call.sum_in(1), places_of(block, call, 2), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::combine_cost(taken_rows(block), tokens_of(block), block.range("D").size(),
                                       block.element_size());
        },
    .types = KernelTypes::stored,
    .sum_operands = {1},
};

constexpr Kernel kCombineGrad{
    .name = "combine_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::combine_grad(call.in(0), call.in(1), call.sum_in(2), places_of(block, call, 3),
                                  shares_tokens(block), call.out(0), call.sum_out(1));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::combine_grad_cost(taken_rows(block), tokens_of(block), block.range("D").size(),
                                            block.element_size());
        },
    .types = KernelTypes::stored,
    .sum_operands = {2},
    .sum_results = {1},
};

void differentiate_combine(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const std::vector<ArrayId>& of = forward.operands;  // ys, gate, choice, slot
  const std::vector<ArrayId> operands{dy, of[0], of[1], of[2], of[3]};
  const ArrayId dys = gradients.contribution(of[0]);
  const ArrayId dgate = gradients.contribution(of[1]);
  Builder(gradients.program(), "combine_grad")
      .phase(kCombineGrad, operands, {dys, dgate})
      .whole({"J"})
      .linear_in({dy})
      .constants(forward.constants)
      .append(operands, {dys, dgate});
  gradients.give_all({of[0], of[1]}, {dys, dgate});
}

ArrayId sample_combine(Program& program) {
  const ArrayId ys = program.add_input("ys", {"E", "B", "C", "D"}, Role::activation);
  const ExpertRouting routing = sample_routing(program);
  return combine(program, "y", ys, routing);
}

}  // namespace

ArrayId combine(Program& program, const std::string& name, ArrayId ys, const ExpertRouting& routing) {
  const ArrayId y = program.add_array(name, {"B", "T", program.array(ys).dims.back()});
  program.array(y).dtype = program.array(ys).dtype;
  const std::vector<ArrayId> operands{ys, routing.gate, routing.choice, routing.slot};
  Builder(program, "combine")
      .phase(kCombine, operands, {y})
      .whole({"J"})
      .linear_in({ys})
      .constants({{kTakenShare, taken_share(program)}})
      .append(operands, {y});
  return y;
}

OperationKind combine_kind() {
  return {.name = "combine",
          .derivative = differentiate_combine,
          .sample = sample_combine,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"D", 256}, {"R", 8}, {"E", 8}, {"J", 2}, {"C", 32}}};
}

}  // namespace shardline
