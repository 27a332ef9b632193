#pragma once

#include "program/ops/expert_places.h"
#include "program/ops/table.h"

namespace shardline {

/// Gives the choices of each sequence places with their experts, in the order of `positions`: fills slot, taken and
/// load of `routing`, which has the choices. No axis splits T, so who is dropped depends on no mesh.
void slots(Program& program, const std::string& name, ExpertRouting& routing, ArrayId positions);

/// For samples: the routing by an input probs[B, T, R].
ExpertRouting sample_routing(Program& program);

/// The row of this operation in operation_kinds().
OperationKind slots_kind();

}  // namespace shardline
