#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The softmax of x[..., R] along its last dim, which no axis splits.
ArrayId softmax(Program& program, const std::string& name, ArrayId x);

/// The row of this operation in operation_kinds().
OperationKind softmax_kind();

}  // namespace shardline
