#pragma once

#include "program/ops/table.h"

namespace shardline {

/// Sum of the squares of all elements: a scalar that owes the axes sharding `x`; a replica counts once. It has no
/// derivative.
ArrayId sum_squares(Program& program, const std::string& name, ArrayId x);

OperationKind sum_squares_kind();

}  // namespace shardline
