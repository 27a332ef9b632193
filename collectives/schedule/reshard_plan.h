#pragma once

#include <vector>

#include "collectives/schedule/packing.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline::collectives {

/// The messages of one rank when an array changes its sharding: intersections of the sender's box and the
/// receiver's box, in coordinates of the logical array. Position q is that of the group over `axes`. The own
/// position's box stays on the rank. A box with an empty range is no message.
struct ReshardPlan {
  Axes axes;                  ///< every axis of every dim that changes, in mesh order, without those of size 1
  Index position = 0;         ///< of the rank within the group
  Box held;                   ///< of the rank under the old sharding
  Box wanted;                 ///< of the rank under the new one
  std::vector<Box> sends;     ///< by position of the receiver
  std::vector<Box> receives;  ///< by position of the sender; they tile `wanted`
};

/// Pure. If several ranks of the group hold the same block, a receiver takes it from the rank that has the same
/// coordinates on the axes that replicate it. So nothing arrives twice and a rank keeps its own elements.
/// Throws UsageError if the shardings do not fit `shape` or the mesh, or are unreduced over different axes.
ReshardPlan reshard_plan(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh,
                         Index rank);

}  // namespace shardline::collectives
