#pragma once

#include "program/ops/table.h"

namespace shardline {

/// y[E, B, C, F] = silu(g) u for the places that taken[E, B] counts. The others are neither read nor written.
ArrayId expert_gate(Program& program, const std::string& name, ArrayId g, ArrayId u, ArrayId taken);

/// The row of this operation in operation_kinds().
OperationKind expert_gate_kind();

}  // namespace shardline
