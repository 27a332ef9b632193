#pragma once

#include <compare>
#include <string>
#include <vector>

#include "runtime/base/reduce_op.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/axes.h"

namespace shardline {

/// How an array lies on a mesh. Each dim has the axes that shard it (major first). `unreduced` are
/// the axes over which partial results are still owed: `A[I_XY, J]{U_Z}`. Any other mesh axis
/// replicates.
struct Sharding {
  std::vector<Axes> dims;
  Axes unreduced;                   ///< in mesh order once validated
  ReduceOp reduce = ReduceOp::sum;  ///< what the unreduced axes owe; sum if there are none

  /// Every dim is whole, and nothing is owed.
  static Sharding replicated(std::size_t rank) { return {std::vector<Axes>(rank), {}, ReduceOp::sum}; }
  /// True when `axis` shards a dim or is owed.
  bool uses(const Axis& axis) const;
  /// The dim that `axis` shards, or -1.
  int dim_of(const Axis& axis) const;
  auto operator<=>(const Sharding&) const = default;
};

/// Checks `sharding` of array `name` with dims `dim_names` against the mesh, and sorts the
/// unreduced axes into mesh order. Throws UsageError with array, dim, axis and mesh for: an unknown
/// axis, an axis used twice, an axis that shards and is unreduced, an owed average, a wrong number
/// of dims.
Sharding validated(Sharding sharding, const std::string& name, const std::vector<std::string>& dim_names,
                   const AbstractMesh& mesh);

/// "A[I_X, J]{U_Y}": canonical text of an array under a sharding (unreduced axes as stored).
std::string to_string(const std::string& name, const std::vector<std::string>& dim_names, const Sharding& sharding);

}  // namespace shardline
