#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// xs[E, B, C, D]: the tokens n[B, T, D] at their places with the experts. Where T is split, the results of the ranks
/// are owed as a sum. Only the places that routing.taken counts hold something.
ArrayId dispatch(Program& program, const std::string& name, ArrayId n, const ExpertRouting& routing);

/// The row of this operation in operation_kinds().
OperationKind dispatch_kind();

}  // namespace shardline
