#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// A scalar: minus the least distance, over the tokens of probs[B, T, R], between the last expert that was chosen and
/// the first that was not. Where it is about as small as rounding, two layouts may route differently. The ranks owe a
/// maximum where B or T is split.
ArrayId closest_choice(Program& program, const std::string& name, ArrayId probs, const ExpertRouting& routing);

/// The row of this operation in operation_kinds().
OperationKind closest_choice_kind();

}  // namespace shardline
