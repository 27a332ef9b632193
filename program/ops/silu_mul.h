#pragma once

#include "program/ops/table.h"

namespace shardline {

/// g * sigmoid(g) * u, the gate of a SwiGLU MLP; linear in u.
ArrayId silu_mul(Program& program, const std::string& name, ArrayId g, ArrayId u);

/// The row of this operation in operation_kinds().
OperationKind silu_mul_kind();

}  // namespace shardline
