#pragma once

#include <string>
#include <utility>
#include <vector>

#include "program/partition/partition.h"

namespace shardline {

/// One row of the strategy table: what a mesh axis of this role shards, by kind of array, as the first of the listed
/// dims that the array has; and the indices it splits in the work, in order of preference.
struct RoleRow {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string> gradients;  ///< and optimizer state
  std::vector<std::string> stream;     ///< the residual stream, and every parameter of one dim
  std::vector<std::string> tokens;
  std::vector<std::string> work;
};

/// The table. A strategy is nothing but rows of it on mesh axes; the algorithms of section 5.1 follow from it.
const std::vector<RoleRow>& strategy_table();

/// Mesh axes with their roles.
using Strategy = std::vector<std::pair<Axis, std::string>>;

/// Parses "fsdp=X,tp=Y", a short form (`dp`, `zero1`, `fsdp` on X; `tp`, `tp_seq`, `tp_g` on Y; joined by +), or "" for
/// fsdp on the only axis. A short form of one role goes to the only axis of a mesh that has one. Throws UsageError on
/// an unknown role or axis, an axis given two roles, and an axis of the mesh without a role.
Strategy parse_strategy(const std::string& text, const AbstractMesh& mesh);

/// "fsdp=X,tp=Y"
std::string to_string(const Strategy& strategy);

/// Layouts and work of every array of `program` under a strategy. Axes on one dim compose in mesh order.
Declaration declare(const Program& program, const AbstractMesh& mesh, const Strategy& strategy,
                    const Policy& policy = {});

}  // namespace shardline
