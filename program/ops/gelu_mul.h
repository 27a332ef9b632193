#pragma once

#include "program/ops/table.h"

namespace shardline {

/// gelu(g) * u with the tanh form of GELU, the gate of a GeGLU MLP; linear in u.
ArrayId gelu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u);

/// The row of this operation in operation_kinds().
OperationKind gelu_mul_kind();

}  // namespace shardline
