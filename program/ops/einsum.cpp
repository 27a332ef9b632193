#include "program/ops/einsum.h"

#include <algorithm>

#include "program/ops/builder.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

template <class S, class R>
void run_elements(const EinsumCall& call, const std::optional<kernels::Window>& window, kernels::KeptOperands* kept) {
  std::vector<kernels::EinsumOperand<S>> terms;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    terms.push_back({call.operands[k]->view<S>(), call.operand_subscripts[k]});
  }
  kernels::einsum<S, R>(terms, call.result->view<R>(), call.result_subscripts, window, kept);
}

/// Operands in bf16 beside others in f32: the first are widened. Nothing is kept of the copies, which end here.
void run_mixed(EinsumCall call, const std::optional<kernels::Window>& window) {
  std::vector<Tensor> widened;
  for (const Tensor* operand : call.operands) widened.push_back(operand->as(DType::f32));
  for (std::size_t k = 0; k < widened.size(); ++k) call.operands[k] = &widened[k];
  run_elements<float, float>(call, window, nullptr);
}

constexpr Kernel kEinsum{
    .name = "einsum",
    .run =
        [](const PhaseBlock& block, const KernelArrays& arrays) {
          const Phase& phase = block.phase;
          run_einsum({arrays.operands, phase.operand_subscripts, arrays.results[0], phase.result_subscripts[0]});
        },
    .cost =
        [](const PhaseBlock& block) {
          Shape extents;
          for (const Range& range : block.ranges) extents.push_back(range.size());
          kernels::Cost cost = kernels::einsum_cost(extents, block.phase.operand_subscripts,
                                                    block.phase.result_subscripts[0], block.element_size());
          for (std::size_t k = 0; k < block.phase.operands.size(); ++k) {  // bf16 beside a result in f32
            const Index narrower = block.element_size() - block.operand_size(k);
            cost.bytes = cost.bytes - Bytes(static_cast<double>(block.elements(k) * narrower));
          }
          return cost;
        },
    .form = KernelForm::product,
    .types = KernelTypes::product,
};

/// Checks the number of operands, and that every index of the result is in an operand.
void check_einsum(const Program& program, const std::vector<ArrayId>& operands, ArrayId result) {
  require(!operands.empty() && operands.size() <= 3, "einsum takes 1 to 3 operands, not {}", operands.size());
  for (const std::string& dim : program.array(result).dims) {
    const bool occurs = std::any_of(operands.begin(), operands.end(), [&](ArrayId a) {
      const Dims& dims = program.array(a).dims;
      return std::find(dims.begin(), dims.end(), dim) != dims.end();
    });
    require(occurs, "einsum: index {} of {} is in no operand", dim, to_string(program.array(result)));
  }
}

void einsum_into(Program& program, const std::vector<ArrayId>& operands, ArrayId result) {
  check_einsum(program, operands, result);
  Builder builder(program, "einsum");
  builder.phase(kEinsum, operands, {result});
  for (const ArrayId operand : operands) {
    if (std::count(operands.begin(), operands.end(), operand) == 1) builder.linear_in({operand});
  }
  builder.append(operands, {result});
}

bool is_parameter(const Program& program, ArrayId array) { return program.array(array).role == Role::parameter; }

/// Gradients of parameters come first, so their reductions have more time.
void differentiate_einsum(Gradients& gradients, const Operation& forward, ArrayId upstream) {
  Program& program = gradients.program();
  for (const bool parameters : {true, false}) {
    for (std::size_t k = 0; k < forward.operands.size(); ++k) {
      const ArrayId operand = forward.operands[k];
      if (is_parameter(program, operand) != parameters || !gradients.needed(operand)) continue;
      std::vector<ArrayId> factors;
      for (std::size_t j = 0; j < forward.operands.size(); ++j) {
        if (j != k) factors.push_back(forward.operands[j]);
      }
      // Order as in the book: a weight's gradient has the activation first, an activation's
      // gradient has the gradient first.
      factors.insert(parameters ? factors.end() : factors.begin(), upstream);
      const ArrayId made = gradients.contribution(operand);
      einsum_into(program, factors, made);
      gradients.give(operand, made);
    }
  }
}

ArrayId sample_einsum(Program& program) {
  const ArrayId a = program.add_input("a", {"I", "J"}, Role::activation);
  const ArrayId b = program.add_input("b", {"I", "J"}, Role::activation);
  return einsum(program, "y", {a, b}, {"I", "J"});
}

}  // namespace

void run_einsum(const EinsumCall& call, const std::optional<kernels::Window>& window, kernels::KeptOperands* kept) {
  const auto is_bf16 = [](const Tensor* operand) { return operand->dtype() == DType::bf16; };
  const auto stored_in_bf16 = std::count_if(call.operands.begin(), call.operands.end(), is_bf16);
  if (call.result->dtype() == DType::f64) {
    run_elements<double, double>(call, window, kept);
  } else if (stored_in_bf16 == 0) {
    run_elements<float, float>(call, window, kept);
  } else if (stored_in_bf16 < static_cast<std::ptrdiff_t>(call.operands.size())) {
    run_mixed(call, window);
  } else if (call.result->dtype() == DType::bf16) {
    run_elements<BFloat16, BFloat16>(call, window, kept);
  } else {
    run_elements<BFloat16, float>(call, window, kept);
  }
}

ArrayId einsum(Program& program, const std::string& name, const std::vector<ArrayId>& operands, const Dims& dims,
               Role role) {
  const ArrayId result = program.add_array(name, dims, role);
  einsum_into(program, operands, result);
  return result;
}

OperationKind einsum_kind() {
  return {.name = "einsum",
          .derivative = differentiate_einsum,
          .sample = sample_einsum,
          .sample_sizes = {{"I", 64}, {"J", 512}}};
}

}  // namespace shardline
