#include "program/ops/sum_squares.h"

#include "kernels/adamw.h"
#include "program/ops/builder.h"
#include "program/ops/typed_call.h"

namespace shardline {
namespace {

constexpr Kernel kSumSquares{
    .name = "sum_squares",
    .run =
        [](const PhaseBlock&, const KernelArrays& arrays) {
          with_stored(arrays, [](const auto& call) { kernels::sum_squares(call.in(0), call.sum_out(0)); });
        },
    .cost = [](const PhaseBlock& block) { return kernels::sum_squares_cost(block.elements(0), block.operand_size(0)); },
    .types = KernelTypes::stored,
    .sum_results = {0},
};

ArrayId sample_sum_squares(Program& program) {
  return sum_squares(program, "y", program.add_input("x", {"I", "J"}, Role::activation));
}

}  // namespace

ArrayId sum_squares(Program& program, const std::string& name, ArrayId x) {
  const ArrayId sum = add_sums(program, name, {});
  Builder(program, "sum_squares").phase(kSumSquares, {x}, {sum}).append({x}, {sum});
  return sum;
}

OperationKind sum_squares_kind() {
  return {.name = "sum_squares", .sample = sample_sum_squares, .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
