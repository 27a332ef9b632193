#include "program/ops/write_at.h"

#include <algorithm>

#include "kernels/write_at.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

/// The share of the places, and so of the tokens, that this block has.
double share_held(const PhaseBlock& block) {
  const std::vector<std::string>& indices = block.operation.indices;
  const auto places = std::find(indices.begin(), indices.end(), "S") - indices.begin();
  const auto all = static_cast<double>(block.operation.extents.at(static_cast<std::size_t>(places)));
  return static_cast<double>(block.range("S").size()) / all;
}

constexpr Kernel kWriteAt{
    .name = "write_at",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::write_at(call.out(0), call.in(1), {.at_BT = call.ids(2), .where_S = call.ids(3)});
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::write_at_cost(block.shape(1), share_held(block), block.element_size());
        },
    .types = KernelTypes::stored,
    .in_place = {0, -1, -1},
    .only_in_place = true,
};

ArrayId sample_write_at(Program& program) {
  const ArrayId cache = program.add_input("cache", {"B", "S", "K", "H"}, Role::cache);
  const ArrayId values = program.add_input("values", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId at = program.add_input("at", {"B", "T"}, Role::positions);
  return write_at(program, "cache'", cache, values, at, program.add_input("where", {"S"}, Role::positions));
}

}  // namespace

ArrayId write_at(Program& program, const std::string& name, ArrayId cache, ArrayId values, ArrayId at, ArrayId where) {
  const ArrayId written = add_like(program, name, cache, program.array(cache).role);
  program.updates.emplace_back(cache, written);
  Builder(program, "write_at")
      .phase(kWriteAt, {cache, values, at, where}, {written})
      .whole({"T"})
      .append({cache, values, at, where}, {written});
  return written;
}

OperationKind write_at_kind() {
  return {.name = "write_at",
          .sample = sample_write_at,
          .sample_sizes = {{"B", 2}, {"T", 64}, {"S", 128}, {"K", 4}, {"H", 64}}};
}

}  // namespace shardline
