#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The sum of the squares of all elements: a scalar. It is owed on the axes that shard `x`;
/// replicas count once. It has no derivative.
ArrayId sum_squares(Program& program, const std::string& name, ArrayId x);

/// The row of this operation in operation_kinds().
OperationKind sum_squares_kind();

}  // namespace shardline
