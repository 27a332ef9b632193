#pragma once

#include <vector>

#include "collectives/options.h"
#include "collectives/packing.h"
#include "collectives/progress.h"
#include "runtime/abstract_mesh.h"
#include "runtime/sharding.h"
#include "runtime/tensor.h"

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

/// Collective over every axis of every dim that changes: moves an array of shape `logical` from one sharding to
/// another. `in` and `out` are this rank's boxes under `from` and `to`. Unreduced axes are equal on both sides and
/// untouched: what is owed stays owed. Buffers and errors as in start_all_gather().
Handle start_reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
                     Tensor& out, const Options& options = {});
/// start_reshard() and wait().
void reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
             Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
