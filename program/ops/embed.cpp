#include "program/ops/embed.h"

#include "kernels/embedding.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kEmbed{
    .name = "embed",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::embed(call.in(0), call.ids(1), block.range("V"), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::embed_cost(block.elements(1), block.shape(0)[1], block.element_size());
        },
    .types = KernelTypes::stored,
};

constexpr Kernel kEmbedGrad{
    .name = "embed_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::embed_grad(call.in(0), call.ids(1), block.range("V"), call.out(0));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::embed_grad_cost(block.elements(1), block.range("V").size(), block.last_range().size(),
                                          block.element_size());
        },
    .types = KernelTypes::stored,
};

void differentiate_embed(Gradients& gradients, const Operation& forward, ArrayId dx) {
  const ArrayId table = forward.operands[0];
  const ArrayId ids = forward.operands[1];
  const ArrayId dtable = gradients.contribution(table);
  Builder(gradients.program(), "embed_grad")
      .phase(kEmbedGrad, {dx, ids}, {dtable})
      .linear_in({dx})
      .append({dx, ids}, {dtable});
  gradients.give(table, dtable);
}

ArrayId sample_embed(Program& program) {
  const ArrayId table = program.add_input("table", {"V", "D"}, Role::parameter);
  return embed(program, "x", table, program.add_input("ids", {"B", "T"}, Role::tokens));
}

}  // namespace

ArrayId embed(Program& program, const std::string& name, ArrayId table, ArrayId ids, Role role) {
  Dims dims = program.array(ids).dims;
  dims.push_back(program.array(table).dims.at(1));
  const ArrayId x = program.add_array(name, dims, role);
  program.array(x).dtype = program.array(table).dtype;
  Builder(program, "embed").phase(kEmbed, {table, ids}, {x}).linear_in({table}).append({table, ids}, {x});
  return x;
}

OperationKind embed_kind() {
  return {.name = "embed",
          .derivative = differentiate_embed,
          .sample = sample_embed,
          .sample_sizes = {{"V", 256}, {"D", 256}, {"B", 2}, {"T", 128}}};
}

}  // namespace shardline
