#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// The J largest of probs[B, T, R] for each token: ExpertRouting::gate, whose weights sum to one, and
/// ExpertRouting::choice. Of equals the first are taken. No axis splits R or J.
ExpertRouting top_k(Program& program, const std::string& name, ArrayId probs);

/// The row of this operation in operation_kinds().
OperationKind top_k_kind();

}  // namespace shardline
