#include "program/ops/expert_load.h"

#include "kernels/experts/routing.h"
#include "program/ops/slots.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kExpertLoad{
    .name = "expert_load",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::count_routed(call.ids(0), static_cast<Index>(block.constant(kPlaces)), call.out(0), call.out(1));
          });
        },
    .cost = [](const PhaseBlock& block) { return kernels::count_routed_cost(block.elements(0)); },
};

ArrayId sample_expert_load(Program& program) {
  const ExpertRouting routing = sample_routing(program);
  return expert_load(program, "routed", routing).routed;
}

}  // namespace

RoutedCounts expert_load(Program& program, const std::string& name, const ExpertRouting& routing) {
  const RoutedCounts counts{add_sums(program, name, {"R"}), add_sums(program, name + ".dropped", {"R"})};
  const std::vector<ArrayId> results{counts.routed, counts.dropped};
  Builder(program, "expert_load")
      .phase(kExpertLoad, {routing.load}, results)
      .whole({"R"})
      .constants({{kPlaces, static_cast<double>(program.sizes.at("C"))}})
      .append({routing.load}, results);
  return counts;
}

OperationKind expert_load_kind() {
  return {.name = "expert_load",
          .sample = sample_expert_load,
          .sample_sizes = {{"B", 2}, {"T", 256}, {"R", 32}, {"E", 32}, {"J", 2}, {"C", 20}}};
}

}  // namespace shardline
