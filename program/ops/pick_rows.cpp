#include "program/ops/pick_rows.h"

#include "kernels/pick_rows.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kPickRows{
    .name = "pick_rows",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::pick_rows(call.in(0), call.ids(1), call.out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::pick_rows_cost(block.range("B").size() * block.range("D").size(), block.element_size());
        },
    .types = KernelTypes::stored,
};

ArrayId sample_pick_rows(Program& program) {
  const ArrayId x = program.add_input("x", {"B", "T", "D"}, Role::activation);
  return pick_rows(program, "y", x, program.add_input("wanted", {"B", "T"}, Role::positions));
}

}  // namespace

ArrayId pick_rows(Program& program, const std::string& name, ArrayId x, ArrayId wanted, Role role) {
  const ArrayId y = program.add_array(name, {"B", "D"}, role);
  Builder(program, "pick_rows").phase(kPickRows, {x, wanted}, {y}).linear_in({x}).append({x, wanted}, {y});
  return y;
}

OperationKind pick_rows_kind() {
  return {.name = "pick_rows", .sample = sample_pick_rows, .sample_sizes = {{"B", 4}, {"T", 32}, {"D", 512}}};
}

}  // namespace shardline
