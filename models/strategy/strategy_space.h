#pragma once

#include <functional>
#include <map>
#include <vector>

#include "models/strategy/strategies.h"

namespace shardline {

/// The possible roles of each axis of a mesh.
using AxisRoles = std::map<Axis, std::vector<AxisRole>>;

/// Every role of the table that splits arrays, for every axis.
AxisRoles every_role(const AbstractMesh& mesh);

/// The roles of the table that mean something for `program`, for every axis: without a dim T no sequence can be
/// split, without a dim E no expert.
AxisRoles roles_for(const Program& program, const AbstractMesh& mesh);

/// Of roles that mean the same for one micro-batch only the first. The roles of an axis stay in their order.
AxisRoles for_one_micro_batch(AxisRoles roles);

/// The roles that a search tries on the axes of a mesh: those of usual_roles() that split the batch, the
/// products or the layers, but no experts, and on kContextAxis those that split contexts. An axis of one rank has only
/// default_role(), because all roles are the same there.
AxisRoles searched_roles(const AbstractMesh& mesh);

/// A mesh and the roles to try on it.
struct StrategySpace {
  AbstractMesh mesh;
  AxisRoles roles;  ///< of each axis of the mesh, none empty
  /// True if two neighbouring axes are alike. Strategies that only swap the roles of such axes appear once,
  /// with the roles in order. Empty: no axes are alike.
  std::function<bool(const Axis&, const Axis&)> alike = {};
};

/// Every way to give each axis of the mesh one of its roles. The role of the last axis changes first.
std::vector<Strategy> strategies_of(const StrategySpace& space);

/// Every way to write `ranks` as a product of `axes` powers of two, the first factors ascending. Empty if
/// `ranks` is no power of two.
std::vector<std::vector<Index>> power_factors(Index ranks, std::size_t axes);

}  // namespace shardline
