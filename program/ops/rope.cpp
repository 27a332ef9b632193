#include "program/ops/rope.h"

#include <algorithm>

#include "kernels/rope.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

kernels::RopeOptions options_of(const PhaseBlock& block) {
  const std::vector<std::string>& indices = block.operation.indices;
  const Subscripts& dims = block.phase.operand_subscripts[0];
  const auto dim = std::find_if(dims.begin(), dims.end(),
                                [&](int index) { return indices[static_cast<std::size_t>(index)] == "T"; });
  return {dim - dims.begin(), block.range("T"), block.constant("theta"), static_cast<int>(block.constant("sign"))};
}

constexpr Kernel kRope{
    .name = "rope",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) { kernels::rope(call.in(0), options_of(block), call.out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::rope_cost(block.elements(0), block.element_size()); },
    .types = KernelTypes::stored,
};

/// Turns `x` into `y`: forward for sign 1, back for sign -1.
void append_rope(Program& program, const std::string& kind, ArrayId x, ArrayId y, double theta, double sign) {
  Builder(program, kind)
      .phase(kRope, {x}, {y})
      .whole({"H"})
      .linear_in({x})
      .constants({{"theta", theta}, {"sign", sign}})
      .append({x}, {y});
}

void differentiate_rope(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId dx = gradients.contribution(forward.operands[0]);
  append_rope(gradients.program(), "rope_grad", dy, dx, forward.constants.at("theta"), -forward.constants.at("sign"));
  gradients.give(forward.operands[0], dx);
}

ArrayId sample_rope(Program& program) {
  return rope(program, "y", program.add_input("x", {"B", "T", "K", "G", "H"}, Role::activation), 10000);
}

}  // namespace

ArrayId rope(Program& program, const std::string& name, ArrayId x, double theta) {
  const ArrayId y = add_like(program, name, x);
  append_rope(program, "rope", x, y, theta, 1);
  return y;
}

OperationKind rope_kind() {
  return {.name = "rope",
          .derivative = differentiate_rope,
          .sample = sample_rope,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"K", 2}, {"G", 2}, {"H", 64}}};
}

}  // namespace shardline
