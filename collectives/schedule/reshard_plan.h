#pragma once

#include <vector>

#include "collectives/schedule/packing.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/layout/sharding.h"

namespace shardline::collectives {

/// What one rank sends and receives when an array changes its sharding: intersections of the box a sender holds with
/// the box a receiver wants, in coordinates of the logical array. Position q of the group over `axes` is the rank with
/// that position; the own position's box is what stays. A box with an empty range is no message.
struct ReshardPlan {
  Axes axes;                  ///< every axis of every dim that changes, in mesh order, without those of size 1
  Index position = 0;         ///< of the rank within the group
  Box held;                   ///< of the rank under the old sharding
  Box wanted;                 ///< of the rank under the new one
  std::vector<Box> sends;     ///< by position of the receiver
  std::vector<Box> receives;  ///< by position of the sender; they tile `wanted`
};

/// Pure. Where several ranks of the group hold the same block, a receiver takes it from the one that agrees with it on
/// the axes that replicate it, so that nothing arrives twice and a rank keeps what it has. Throws UsageError when the
/// shardings do not fit `shape` or the mesh, or owe something on different axes.
ReshardPlan reshard_plan(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh,
                         Index rank);

}  // namespace shardline::collectives
