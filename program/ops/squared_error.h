#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The mean over all elements of (out - target)^2, both of the same dims: a scalar. It is owed on the axes that split
/// an index. `parts`: the rows are one of so many equal parts of a batch, and the mean is over the batch.
ArrayId squared_error(Program& program, const std::string& name, ArrayId out, ArrayId target, Index parts = 1);

/// The row of this operation in operation_kinds().
OperationKind squared_error_kind();

}  // namespace shardline
