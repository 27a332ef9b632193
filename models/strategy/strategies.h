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
/// or axis, a role that does not serve `use`, an axis with two roles, and an axis of the mesh without a role.
Strategy parse_strategy(const std::string& text, const AbstractMesh& mesh, RoleUse use = RoleUse::training);

/// "fsdp=X,tp=Y"
std::string to_string(const Strategy& strategy);

/// The axis of the stages of a pipeline; empty if the strategy makes no stages, or if the axis has one rank. Throws
/// UsageError if two axes make stages.
Axis stage_axis(const Strategy& strategy, const AbstractMesh& mesh);
/// The strategy of a stage on its own mesh: without the roles that make stages.
Strategy within_stage(const Strategy& strategy);

/// Layouts and work of every array of `program` under a strategy. If several axes shard one dim, they have mesh
/// order. A role that makes stages leaves every array whole.
Declaration declare(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                    const Policy& policy = {});

/// The same for a program of generation, of which several share parameters and caches: these lie as `resting` says. The
/// entries of RoleRow::decode count if the program has one token of each sequence.
Declaration declare_generation(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                               const Strategy& resting);

}  // namespace shardline
