#pragma once

#include "program/ops/table.h"

namespace shardline {

/// x + b: `b` is added at every position of the dims that it lacks. Its dims are the last ones of x. Linear in both
/// together, so that a rank of several that owe parts of x adds its part of b, not all of it. The gradient of b is the
/// sum over the dims that it lacks. Throws UsageError for other dims.
ArrayId add_bias(Program& program, const std::string& name, ArrayId x, ArrayId b);

/// The row of this operation in operation_kinds().
OperationKind add_bias_kind();

}  // namespace shardline
