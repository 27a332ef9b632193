#pragma once

#include <optional>

#include "kernels/einsum/einsum.h"
#include "program/ops/table.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// Sum of products over every index that `dims` lacks, of 1 to 3 operands. Any one operand that occurs once is linear.
ArrayId einsum(Program& program, const std::string& name, const std::vector<ArrayId>& operands,
               const std::vector<std::string>& dims, Role role = Role::activation);

OperationKind einsum_kind();

/// An einsum of 1 to 3 blocks in memory, with the index of every dim as the blocks are laid out.
struct EinsumCall {
  std::vector<const Tensor*> operands;
  std::vector<kernels::Subscripts> operand_subscripts;
  Tensor* result = nullptr;
  kernels::Subscripts result_subscripts;
};

/// Computes it, or the part of it in `window`. Elements are f32 or f64 as the result's; an f32 result may be that of
/// bf16 operands, which are widened first, all of them. Throws Error as kernels::einsum() does.
void run_einsum(const EinsumCall& call, const std::optional<kernels::Window>& window = {});

}  // namespace shardline
