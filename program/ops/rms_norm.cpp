#include "program/ops/rms_norm.h"

#include "kernels/norm.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

kernels::NormOptions options_of_norm(const PhaseBlock& block) {
  return {block.last_extent(), block.constant("epsilon"), block.continues};
}

constexpr Kernel kSumSquaresRows{
    .name = "sum_squares_rows",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::sum_squares_rows(call.in(0), call.sum_out(0)); });
        },
    .cost =
        [](const PhaseBlock& block) { return kernels::sum_squares_rows_cost(block.shape(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_results = {0},
    .strips = true,
};

constexpr Kernel kNormalize{
    .name = "normalize",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::normalize(call.in(0), call.sum_in(1), call.sum_in(2), options_of_norm(block), call.out(0));
          });
        },
    .cost = [](const PhaseBlock& block) { return kernels::normalize_cost(block.shape(0), block.element_size()); },
    .types = KernelTypes::stored,
    .sum_operands = {1, 2},
    .strips = true,
};

constexpr Kernel kNormDot{
    .name = "norm_dot",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) {
            kernels::norm_dot(call.in(0), call.sum_in(1), call.in(2), call.sum_out(0));
          });
        },
    .cost = [](const PhaseBlock& block) { return kernels::norm_dot_cost(block.shape(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_operands = {1},
    .sum_results = {0},
    .strips = true,
};

constexpr Kernel kNormGrad{
    .name = "norm_grad",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          with_stored(arrays, [&](const auto& call) {
            kernels::norm_grad(call.in(0), call.in(1), call.sum_in(2), call.sum_in(3), call.sum_in(4),
                               options_of_norm(block), call.out(0), call.sum_out(1));
          });
        },
    .cost = [](const PhaseBlock& block) { return kernels::norm_grad_cost(block.shape(0), block.element_size()); },
    .types = KernelTypes::stored,
    .sum_operands = {2, 3, 4},
    .sum_results = {1},
    .strips = true,
};

void differentiate_rms_norm(Gradients& gradients, const Operation& forward, ArrayId dy) {
  Program& program = gradients.program();
  const ArrayId x = forward.operands[0];
  const ArrayId w = forward.operands[1];
  const ArrayId squares = forward.results[1];
  const std::vector<ArrayId> made = gradients.contributions(forward.operands);
  const ArrayId dot = add_like(program, program.array(dy).name + ".dot", squares);
  Builder(program, "rms_norm_grad")
      .phase(kNormDot, {dy, w, x}, {dot})
      .phase(kNormGrad, {dy, x, squares, w, dot}, made)
      .linear_in({dy, dot})
      .constants(forward.constants)
      .append({dy, x, squares, w}, made);
  gradients.give_all(forward.operands, made);
}

ArrayId sample_rms_norm(Program& program) {
  const ArrayId x = program.add_input("x", {"T", "D"}, Role::activation);
  const ArrayId w = program.add_input("w", {"D"}, Role::parameter);
  program.array(w).dtype = sum_type(program.dtype);
  return rms_norm(program, "y", x, w, 1e-5);
}

}  // namespace

ArrayId rms_norm(Program& program, const std::string& name, ArrayId x, ArrayId w, double epsilon) {
  const ArrayId y = add_like(program, name, x);
  const Dims rows = leading(program.array(x).dims);
  const ArrayId squares = add_sums(program, name + ".squares", rows);
  Builder(program, "rms_norm")
      .phase(kSumSquaresRows, {x}, {squares})
      .phase(kNormalize, {x, squares, w}, {y})
      .linear_in({w})
      .constants({{"epsilon", epsilon}})
      .append({x, w}, {y, squares});
  return y;
}

OperationKind rms_norm_kind() {
  return {.name = "rms_norm",
          .derivative = differentiate_rms_norm,
          .sample = sample_rms_norm,
          .sample_sizes = {{"T", 128}, {"D", 256}}};
}

}  // namespace shardline
