#pragma once

#include "program/ops/table.h"

namespace shardline {

/// The elements of `x` in another floating-point type, rounded to nearest. Its derivative casts the gradient to the
/// type of `x`. Throws UsageError for integers.
ArrayId cast(Program& program, const std::string& name, ArrayId x, DType dtype);

/// The row of this operation in operation_kinds().
OperationKind cast_kind();

}  // namespace shardline
