#include "models/strategy/strategy_space.h"

#include <algorithm>

#include "models/strategy/usual_axes.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Of the rows that split sequences only context parallelism is tried, on its own axis. A row that shares no work does
/// not help a search. Experts have roles of their own, for models that have some.
bool is_searched(const RoleRow& row, const Axis& axis) {
  if (splits_experts(row)) return false;
  if (shares_sequences(row)) return axis == kContextAxis;
  return !splits_sequences(row) && (splits_batch(row) || splits_products(row) || makes_stages(row));
}

const std::vector<AxisRole>& roles_of(const StrategySpace& space, const Axis& axis) {
  const auto found = space.roles.find(axis);
  SHARDLINE_CHECK(found != space.roles.end() && !found->second.empty(), "axis {} of mesh {} has no role to try", axis,
                  space.mesh.to_string());
  return found->second;
}

}  // namespace

AxisRoles every_role(const AbstractMesh& mesh) {
  std::vector<AxisRole> all = training_roles();
  std::erase_if(all, [](const AxisRole& role) { return makes_stages(role.row()); });
  AxisRoles roles;
  for (const Axis& axis : mesh.axes()) roles[axis] = all;
  return roles;
}

AxisRoles roles_for(const Program& program, const AbstractMesh& mesh) {
  AxisRoles roles = every_role(mesh);
  const bool sequences = program.sizes.contains("T");
  const bool experts = program.sizes.contains("E");
  for (auto& [axis, of_axis] : roles) {
    std::erase_if(of_axis, [&](const AxisRole& role) {
      return (!sequences && splits_sequences(role.row())) || (!experts && splits_experts(role.row()));
    });
  }
  return roles;
}

AxisRoles for_one_micro_batch(AxisRoles roles) {
  for (auto& [axis, of_axis] : roles) {
    std::vector<AxisRole> kept;
    for (const AxisRole& role : of_axis) {
      const auto same = [&](const AxisRole& other) { return same_without_sums(role.row(), other.row()); };
      if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(role);
    }
    of_axis = std::move(kept);
  }
  return roles;
}

AxisRoles searched_roles(const AbstractMesh& mesh) {
  AxisRoles roles;
  for (const Axis& axis : mesh.axes()) {
    if (mesh.size(axis) == 1) {
      roles[axis] = {default_role()};
      continue;
    }
    for (const AxisRole& role : usual_roles(axis)) {
      if (is_searched(role.row(), axis)) roles[axis].push_back(role);
    }
  }
  return roles;
}

std::vector<Strategy> strategies_of(const StrategySpace& space) {
  const Axes& axes = space.mesh.axes();
  std::vector<Strategy> all{{}};
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::vector<AxisRole>& roles = roles_of(space, axes[a]);
    // Only axes with the same roles may swap them.
    const bool ordered =
        a > 0 && space.alike && roles == roles_of(space, axes[a - 1]) && space.alike(axes[a - 1], axes[a]);
    std::vector<Strategy> longer;
    for (const Strategy& strategy : all) {
      for (const AxisRole& role : roles) {
        if (ordered && role < strategy.back().second) continue;
        longer.push_back(strategy);
        longer.back().emplace_back(axes[a], role);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::vector<Index>> power_factors(Index ranks, std::size_t axes) {
  if (axes == 0) return ranks == 1 ? std::vector<std::vector<Index>>{{}} : std::vector<std::vector<Index>>{};
  std::vector<std::vector<Index>> all;
  for (Index first = 1; first <= ranks; first *= 2) {
    if (ranks % first != 0) break;
    for (const std::vector<Index>& others : power_factors(ranks / first, axes - 1)) {
      all.push_back({first});
      all.back().insert(all.back().end(), others.begin(), others.end());
    }
  }
  return all;
}

}  // namespace shardline
