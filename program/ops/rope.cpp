#include "program/ops/rope.h"

#include <algorithm>
#include <utility>

#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr const char* kFactor = "factor";
constexpr const char* kLow = "low_freq_factor";
constexpr const char* kHigh = "high_freq_factor";
constexpr const char* kOriginal = "original_positions";

std::map<std::string, double> constants_of(double theta, const std::optional<kernels::RopeScaling>& scaling) {
  std::map<std::string, double> constants = {{"theta", theta}, {"sign", 1}};
  if (scaling) {
    constants.insert({{kFactor, scaling->factor},
                      {kLow, scaling->low_freq_factor},
                      {kHigh, scaling->high_freq_factor},
                      {kOriginal, scaling->original_positions}});
  }
  return constants;
}

std::optional<kernels::RopeScaling> scaling_of(const PhaseBlock& block) {
  if (!block.operation.constants.contains(kFactor)) return std::nullopt;
  return kernels::RopeScaling{.factor = block.constant(kFactor),
                              .low_freq_factor = block.constant(kLow),
                              .high_freq_factor = block.constant(kHigh),
                              .original_positions = block.constant(kOriginal)};
}

template <class Call>
kernels::RopeOptions options_of(const PhaseBlock& block, const Call& call) {
  const std::vector<std::string>& indices = block.operation.indices;
  const Subscripts& dims = block.phase.operand_subscripts[0];
  const auto dim = std::find_if(dims.begin(), dims.end(),
                                [&](int index) { return indices[static_cast<std::size_t>(index)] == "T"; });
  return {.time_dim = dim - dims.begin(),
          .positions = call.ids(1),
          .starts = call.operands() > 2 ? call.ids(2) : View<const std::int32_t>{},
          .theta = block.constant("theta"),
          .sign = static_cast<int>(block.constant("sign")),
          .scaling = scaling_of(block)};
}

constexpr Kernel kRope{
    .name = "rope",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays,
                      [&](const auto& call) { kernels::rope(call.in(0), options_of(block, call), call.out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::rope_cost(block.elements(0), block.element_size()); },
    .types = KernelTypes::stored,
};

/// Turns the first of `operands` into `y`: forward for sign 1, back for sign -1. The others are positions and starts.
void append_rope(Program& program, const std::string& kind, const std::vector<ArrayId>& operands, ArrayId y,
                 std::map<std::string, double> constants) {
  Builder(program, kind)
      .phase(kRope, operands, {y})
      .whole({"H"})
      .linear_in({operands[0]})
      .constants(std::move(constants))
      .append(operands, {y});
}

void differentiate_rope(Gradients& gradients, const Operation& forward, ArrayId dy) {
  const ArrayId dx = gradients.contribution(forward.operands[0]);
  std::map<std::string, double> constants = forward.constants;
  constants["sign"] = -constants.at("sign");
  std::vector<ArrayId> operands = forward.operands;
  operands[0] = dy;
  append_rope(gradients.program(), "rope_grad", operands, dx, std::move(constants));
  gradients.give(forward.operands[0], dx);
}

ArrayId sample_rope(Program& program) {
  const ArrayId x = program.add_input("x", {"B", "T", "K", "G", "H"}, Role::activation);
  return rope(program, "y", x, program.add_input("positions", {"T"}, Role::positions), 10000);
}

}  // namespace

ArrayId rope(Program& program, const std::string& name, ArrayId x, ArrayId positions, double theta,
             const std::optional<kernels::RopeScaling>& scaling, ArrayId starts) {
  const ArrayId y = add_like(program, name, x);
  std::vector<ArrayId> operands{x, positions};
  if (starts >= 0) operands.push_back(starts);
  append_rope(program, "rope", operands, y, constants_of(theta, scaling));
  return y;
}

OperationKind rope_kind() {
  return {.name = "rope",
          .derivative = differentiate_rope,
          .sample = sample_rope,
          .sample_sizes = {{"B", 2}, {"T", 128}, {"K", 2}, {"G", 2}, {"H", 64}}};
}

}  // namespace shardline
