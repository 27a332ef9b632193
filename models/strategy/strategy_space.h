#pragma once

#include <functional>
#include <map>
#include <vector>

#include "models/strategy/strategies.h"

namespace shardline {

/// The roles that each axis of a mesh may have.
using AxisRoles = std::map<Axis, std::vector<AxisRole>>;

/// Every role of the table for every axis.
AxisRoles every_role(const AbstractMesh& mesh);

/// The roles that a search tries on the axes of a mesh: those of usual_roles() that split the batch or the products,
/// but no sequences. An axis of a single rank has default_role() alone, as all are the same there.
AxisRoles searched_roles(const AbstractMesh& mesh);

/// A mesh and what is tried on it.
struct StrategySpace {
  AbstractMesh mesh;
  AxisRoles roles;  ///< of each axis of the mesh, none empty
  /// Whether two neighbouring axes are alike. Of strategies that only swap the roles of such axes there is one, with
  /// the roles in order. Empty: no axes are alike.
  std::function<bool(const Axis&, const Axis&)> alike = {};
};

/// Every way to give each axis of the mesh one of its roles: the role of the last axis changes first.
std::vector<Strategy> strategies_of(const StrategySpace& space);

/// Every way to write `ranks` as a product of `axes` powers of two, the first factors ascending. None where `ranks` is
/// no power of two.
std::vector<std::vector<Index>> power_factors(Index ranks, std::size_t axes);

}  // namespace shardline
