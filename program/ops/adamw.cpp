#include "program/ops/adamw.h"

#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

kernels::AdamWOptions options_of_adamw(const PhaseBlock& block) {
  return {.beta1 = block.constant("beta1"),
          .beta2 = block.constant("beta2"),
          .eps = block.constant("eps"),
          .weight_decay = block.constant("weight_decay"),
          .clip_norm = block.constant("clip_norm")};
}

constexpr Kernel kAdamW{
    .name = "adamw",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_elements(arrays, [&](const auto& call) {
            kernels::adamw(options_of_adamw(block), call.in(0), call.in(1), call.in(2), call.in(3), call.scalar(4),
                           call.scalar(5), call.scalar(6), call.out(0), call.out(1), call.out(2));
          });
        },
    .cost =
        [](const PhaseBlock& block) {
          return kernels::adamw_cost(
              block.elements(0),
              {.parameter = block.operand_size(0), .gradient = block.operand_size(1), .moment = block.operand_size(2)});
        },
    .in_place = {0, 2, 3},  // parameter and moments
};

ArrayId sample_adamw(Program& program) {
  const auto matrix = [&](const char* name, Role role) {
    const ArrayId made = program.add_input(name, {"I", "J"}, role);
    program.array(made).dtype = sum_type(program.dtype);
    return made;
  };
  const auto scalar = [&](const char* name) { return program.add_input(name, {}, Role::whole); };
  adamw(program,
        {.parameter = matrix("w", Role::parameter),
         .gradient = matrix("g", Role::gradient),
         .first_moment = matrix("m", Role::optimizer_state),
         .second_moment = matrix("v", Role::optimizer_state),
         .norm_squared = scalar("norm_squared"),
         .learning_rate = scalar("learning_rate"),
         .step = scalar("step")},
        {.weight_decay = 0.1, .clip_norm = 1});
  return program.find("w'");
}

}  // namespace

void adamw(Program& program, const AdamWOperands& in, const kernels::AdamWOptions& options) {
  std::vector<ArrayId> results;
  for (const ArrayId old : {in.parameter, in.first_moment, in.second_moment}) {
    const std::string name = program.array(old).name + "'";
    results.push_back(add_like(program, name, old, program.array(old).role));
    program.updates.emplace_back(old, results.back());
  }
  const std::vector<ArrayId> operands = {in.parameter,    in.gradient,      in.first_moment, in.second_moment,
                                         in.norm_squared, in.learning_rate, in.step};
  Builder(program, "adamw")
      .phase(kAdamW, operands, results)
      .constants({{"beta1", options.beta1},
                  {"beta2", options.beta2},
                  {"eps", options.eps},
                  {"weight_decay", options.weight_decay},
                  {"clip_norm", options.clip_norm}})
      .append(operands, results);
}

OperationKind adamw_kind() {
  return {.name = "adamw", .sample = sample_adamw, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
