#pragma once

#include <optional>
#include <vector>

#include "kernels/einsum/einsum.h"
#include "runtime/layout/tensor.h"

namespace shardline {

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
