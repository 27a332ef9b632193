#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/layout/abstract_mesh.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The ranks that differ from this one only on some axes, in the order in which the axes were written (major first).
struct Group {
  Axes axes;                                ///< as written
  const mpi::Communicator* comm = nullptr;  ///< lives as long as the mesh
  std::vector<int> ranks;                   ///< ranks[i] = rank within `comm` of position i
  std::vector<Index> mesh_ranks;            ///< the same as ranks of the mesh
  int position = 0;                         ///< this rank's position
  bool one_node = true;                     ///< all of them can share memory, as MPI tells
  int size() const { return static_cast<int>(ranks.size()); }
};

/// An AbstractMesh whose ranks are those of a communicator. The communicator of an axis set is made at first use,
/// collectively over its own ranks only, and cached.
class Mesh {
 public:
  /// Collective over `parent`, which is duplicated. Throws UsageError that gives both numbers when the product of the
  /// axes is not the number of ranks.
  Mesh(AbstractMesh axes, const mpi::Communicator& parent);

  const AbstractMesh& axes() const { return axes_; }
  Index rank() const { return comm_.rank(); }
  Index ranks() const { return comm_.size(); }
  const Coordinates& coordinates() const { return coordinates_; }
  /// All ranks of the mesh.
  const mpi::Communicator& comm() const { return comm_; }
  /// By rank: the lowest rank of its node.
  const std::vector<int>& nodes() const { return nodes_; }
  /// This rank's node has fewer cores than ranks of the mesh, which must take turns.
  bool crowded() const { return crowded_; }
  /// Collective over `axes` when the axis set is used for the first time; any order of the same axes shares one
  /// communicator. Throws UsageError on an unknown or repeated axis.
  const Group& group(const Axes& axes) const;
  /// group() over those of `axes` whose size is not 1; where there are none, of this rank alone and without a
  /// communicator.
  const Group& moving_group(const Axes& axes) const;

 private:
  AbstractMesh axes_;
  mpi::Communicator comm_;
  Coordinates coordinates_;
  std::vector<int> nodes_;
  bool crowded_ = false;
  mutable std::map<Axes, std::unique_ptr<mpi::Communicator>> comms_;  ///< by axes in mesh order
  mutable std::map<Axes, Group> groups_;                              ///< by axes as written
  mutable std::map<Axes, Group> moving_groups_;                       ///< by axes as written, those of size 1 included
};

}  // namespace shardline
