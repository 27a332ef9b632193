#pragma once

#include <vector>

#include "kernels/support/cost.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// Runs one phase of an operation of `program` on the blocks that a rank holds. `ranges` gives, for each index of the
/// operation, where the block lies in the whole (kernels with positions or ids read it); results must have their local
/// shapes already and may share storage with an operand where the kernel allows it (adamw). Elements are f32 or f64 as
/// the first result; an einsum may read bf16 operands into an f32 result. Knows no rank. Throws Error when dtypes or
/// shapes do not fit.
void run_phase(const Program& program, const Operation& op, std::size_t phase, const std::vector<Range>& ranges,
               const std::vector<const Tensor*>& operands, const std::vector<Tensor*>& results);

/// FLOPs and bytes of that call.
kernels::Cost phase_cost(const Program& program, const Operation& op, std::size_t phase,
                         const std::vector<Range>& ranges);

}  // namespace shardline
