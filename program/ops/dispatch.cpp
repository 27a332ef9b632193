#include "program/ops/dispatch.h"

#include "program/ops/slots.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

template <class Call>
kernels::Places places_of(const PhaseBlock& block, const Call& call) {
  return {.choice_BTJ = call.ids(1), .slot_BTJ = call.ids(2), .experts = block.range("E"), .places = block.range("C")};
}

constexpr Kernel kDispatch{
    .name = "dispatch",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::dispatch(call.in(0), places_of(block, call), shares_tokens(block), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::dispatch_cost(taken_rows(block), block.range("D").size(), block.element_size());
        },
    .types = KernelTypes::stored,
};

constexpr Kernel kDispatchGrad{
    .name = "dispatch_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::dispatch_grad(call.in(0), places_of(block, call), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::combine_cost(taken_rows(block), block.range("B").size() * block.range("T").size(),
                                       block.range("D").size(), block.element_size());
        },
    .types = KernelTypes::stored,
};

void differentiate_dispatch(Gradients& gradients, const Operation& forward, ArrayId dxs) {
  const ArrayId n = forward.operands[0];
  const std::vector<ArrayId> operands{dxs, forward.operands[1], forward.operands[2]};
  const ArrayId dn = gradients.contribution(n);
  Builder(gradients.program(), "dispatch_grad")
      .phase(kDispatchGrad, operands, {dn})
      .whole({"J"})
      .linear_in({dxs})
      .constants(forward.constants)
      .append(operands, {dn});
  gradients.give(n, dn);
}

ArrayId sample_dispatch(Program& program) {
  const ArrayId n = program.add_input("n", {"B", "T", "D"}, Role::activation);
  const ExpertRouting routing = sample_routing(program);
  return dispatch(program, "xs", n, routing);
}

}  // namespace

ArrayId dispatch(Program& program, const std::string& name, ArrayId n, const ExpertRouting& routing) {
  const ArrayId xs = program.add_array(name, {"E", "B", "C", program.array(n).dims.back()});
  program.array(xs).dtype = program.array(n).dtype;
  set_taken(program, xs, routing.taken);
  const std::vector<ArrayId> operands{n, routing.choice, routing.slot};
  Builder(program, "dispatch")
      .phase(kDispatch, operands, {xs})
      .whole({"J"})
      .linear_in({n})
      .constants({{kTakenShare, taken_share(program)}})
      .append(operands, {xs});
  return xs;
}

OperationKind dispatch_kind() {
  return {.name = "dispatch",
          .derivative = differentiate_dispatch,
          .sample = sample_dispatch,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"D", 256}, {"R", 8}, {"E", 8}, {"J", 2}, {"C", 32}}};
}

}  // namespace shardline
