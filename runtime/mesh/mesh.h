#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/layout/abstract_mesh.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// The ranks that differ from this one only on some axes, ordered as the axes were written (major
/// first).
struct Group {
  Axes axes;                                ///< as written
  const mpi::Communicator* comm = nullptr;  ///< lives as long as the mesh
  std::vector<int> ranks;                   ///< ranks[i] = rank within `comm` of position i
  std::vector<Index> mesh_ranks;            ///< the same positions as ranks of the mesh
  int position = 0;                         ///< this rank's position
  bool one_node = true;                     ///< all ranks can share memory, as MPI reports
  int size() const { return static_cast<int>(ranks.size()); }
};

/// An AbstractMesh over the ranks of a communicator. The first use of an axis set makes its
/// communicator, collectively over its own ranks only. Later uses share it.
class Mesh {
 public:
  /// Collective over `parent`, which is duplicated. Throws UsageError with both numbers if the
  /// product of the axes is not the number of ranks.
  Mesh(AbstractMesh axes, const mpi::Communicator& parent);
  /// The same for some ranks of `whole`: they share the cores of a node with all ranks of `whole`.
  Mesh(AbstractMesh axes, const mpi::Communicator& parent, const Mesh& whole);

  const AbstractMesh& axes() const { return axes_; }
  Index rank() const { return comm_.rank(); }
  Index ranks() const { return comm_.size(); }
  const Coordinates& coordinates() const { return coordinates_; }
  /// All ranks of the mesh.
  const mpi::Communicator& comm() const { return comm_; }
  /// For every rank, the lowest rank of its node.
  const std::vector<int>& nodes() const { return nodes_; }
  /// This rank's node has more ranks of the mesh than cores, so ranks take turns.
  bool crowded() const { return crowded_; }
  /// Collective over `axes` at the first use of the axis set. All orders of the same axes share one
  /// communicator. Throws UsageError for an unknown or repeated axis.
  const Group& group(const Axes& axes) const;
  /// group() over those of `axes` whose size is not 1. If there are none: this rank alone, without
  /// a communicator.
  const Group& moving_group(const Axes& axes) const;

 private:
  AbstractMesh axes_;
  mpi::Communicator comm_;
  Coordinates coordinates_;
  std::vector<int> nodes_;
  bool crowded_ = false;
  mutable std::map<Axes, std::unique_ptr<mpi::Communicator>> comms_;  ///< by axes in mesh order
  mutable std::map<Axes, Group> groups_;                              ///< by axes as written
  mutable std::map<Axes, Group> moving_groups_;                       ///< by axes as written, including axes of size 1
};

}  // namespace shardline
