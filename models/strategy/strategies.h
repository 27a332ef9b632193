#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/strategy/roles.h"
#include "program/partition/partition.h"

namespace shardline {

/// Mesh axes with their roles.
using Strategy = std::vector<std::pair<Axis, AxisRole>>;

/// Parses "fsdp=X,tp=Y", a short form ("fsdp+tp", each role on usual_axis()), or "" for default_role() on the
/// only axis. If the mesh has one axis, a short form of one role uses it. Throws UsageError on an unknown role
/// or axis, an axis with two roles, and an axis of the mesh without a role.
Strategy parse_strategy(const std::string& text, const AbstractMesh& mesh);

/// "fsdp=X,tp=Y"
std::string to_string(const Strategy& strategy);

/// Layouts and work of every array of `program` under a strategy. If several axes shard one dim, they have mesh
/// order.
Declaration declare(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                    const Policy& policy = {});

}  // namespace shardline
