#pragma once

#include <optional>

#include "kernels/einsum/einsum.h"
#include "program/ops/table.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// The sum of products of 1 to 3 operands over every index that `dims` lacks. Linear in each
/// operand that occurs once.
ArrayId einsum(Program& program, const std::string& name, const std::vector<ArrayId>& operands,
               const std::vector<std::string>& dims, Role role = Role::activation);

/// The row of this operation in operation_kinds().
OperationKind einsum_kind();

/// An einsum of 1 to 3 blocks in memory, with the index of every dim in storage order.
struct EinsumCall {
  std::vector<const Tensor*> operands;
  std::vector<kernels::Subscripts> operand_subscripts;
  Tensor* result = nullptr;
  kernels::Subscripts result_subscripts;
};

/// Computes the einsum, or its part in `window`. Operands have one element type: f32, f64 or bf16. The
/// result has it too. Into a result in f32, some or all operands may be bf16; the sums are f32. Whoever computes one
/// window after the other gives `kept`, the same in each. Throws Error as kernels::einsum() does.
void run_einsum(const EinsumCall& call, const std::optional<kernels::Window>& window = {},
                kernels::KeptOperands* kept = nullptr);

}  // namespace shardline
