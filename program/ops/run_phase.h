#pragma once

#include <vector>

#include "kernels/support/cost.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"

namespace shardline {

/// Runs one phase of an operation on the blocks of a rank. `ranges` gives the position of the block
/// along each index of the operation; kernels with positions or ids read it. Results must have
/// their local shapes already. A result may share storage with an operand if the kernel allows it
/// (adamw). Elements are f32, f64 or bf16; KernelTypes says which of them a kernel takes, and which
/// of its arrays may differ. It knows no rank. `continues`: see PhaseBlock. Throws Error if dtypes or
/// shapes do not fit.
void run_phase(const Program& program, const Operation& op, std::size_t phase, const std::vector<Range>& ranges,
               const std::vector<const Tensor*>& operands, const std::vector<Tensor*>& results, bool continues = false);

/// FLOPs and bytes of that call.
kernels::Cost phase_cost(const Program& program, const Operation& op, std::size_t phase,
                         const std::vector<Range>& ranges);

}  // namespace shardline
