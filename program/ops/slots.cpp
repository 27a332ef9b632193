#include "program/ops/slots.h"

#include "kernels/experts/routing.h"
#include "program/ops/top_k.h"

namespace shardline {
namespace {

constexpr Kernel kSlots{
    .name = "slots",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          const auto in = [&](std::size_t k) { return arrays.operands[k]->view<std::int32_t>(); };
          const auto out = [&](std::size_t k) { return arrays.results[k]->view<std::int32_t>(); };
          kernels::assign_places(in(0), in(1), static_cast<Index>(block.constant(kPlaces)), out(0), out(1), out(2));
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::assign_places_cost(block.elements(0), block.range("E").size(), block.range("B").size());
        },
    .types = KernelTypes::any,
};

ArrayId sample_slots(Program& program) { return sample_routing(program).gate; }

}  // namespace

void slots(Program& program, const std::string& name, ExpertRouting& routing, ArrayId positions) {
  routing.slot = add_integers(program, name, program.array(routing.choice).dims);
  routing.taken = add_integers(program, name + ".taken", {"E", "B"});
  routing.load = add_integers(program, name + ".load", {"B", "R"});
  const std::vector<ArrayId> operands{routing.choice, positions};
  const std::vector<ArrayId> results{routing.slot, routing.taken, routing.load};
  Builder(program, "slots")
      .phase(kSlots, operands, results)
      .whole({"T", "J", "E", "R"})
      .constants({{kPlaces, static_cast<double>(program.sizes.at("C"))}})
      .append(operands, results);
}

ExpertRouting sample_routing(Program& program) {
  const ArrayId probs = program.add_input("probs", {"B", "T", "R"}, Role::activation);
  program.array(probs).dtype = sum_type(program.dtype);
  ExpertRouting routing = top_k(program, "gate", probs);
  slots(program, "slot", routing, program.add_input("positions", {"T"}, Role::positions));
  return routing;
}

OperationKind slots_kind() {
  return {.name = "slots",
          .sample = sample_slots,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}, {"E", 32}, {"J", 2}, {"C", 20}}};
}

}  // namespace shardline
