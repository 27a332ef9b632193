#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// y[B, T, D]: for each token the sum of what its experts made of it, ys[E, B, C, D], times routing.gate. A choice
/// without a place adds nothing. Where E or C is split, the result is owed as a sum.
ArrayId combine(Program& program, const std::string& name, ArrayId ys, const ExpertRouting& routing);

/// The row of this operation in operation_kinds().
OperationKind combine_kind();

}  // namespace shardline
