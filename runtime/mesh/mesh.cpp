#include "runtime/mesh/mesh.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/mpi/cores.h"

namespace shardline {
namespace {

mpi::Communicator duplicate_for(const AbstractMesh& axes, const mpi::Communicator& parent) {
  require(axes.ranks() == parent.size(), "mesh {} has {} ranks, this job runs {}: the product of the sizes must match",
          axes.to_string(), axes.ranks(), parent.size());
  return parent.duplicate();
}

/// Collective over `comm`: for every rank the lowest rank of its node. `node` has the ranks of this
/// node.
std::vector<int> nodes_of(const mpi::Communicator& comm, const mpi::Communicator& node) {
  const double lowest = node.min(comm.rank());
  std::vector<int> nodes;
  for (const double rank : comm.all_gather(lowest)) nodes.push_back(static_cast<int>(rank));
  return nodes;
}

void require_distinct(const Axes& axes, const AbstractMesh& mesh) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require(mesh.has(axes[i]), "there is no axis {} in mesh {}", axes[i], mesh.to_string());
    for (std::size_t j = 0; j < i; ++j) {
      require(axes[i] != axes[j], "axis {} is given twice in a group over {}", axes[i], to_string(axes));
    }
  }
}

}  // namespace

Mesh::Mesh(AbstractMesh axes, const mpi::Communicator& parent)
    : axes_(std::move(axes)), comm_(duplicate_for(axes_, parent)), coordinates_(axes_.coordinates(comm_.rank())) {
  const mpi::Communicator node = comm_.split_by_node();
  nodes_ = nodes_of(comm_, node);
  crowded_ = node.size() > mpi::cores_of(node);
}

Mesh::Mesh(AbstractMesh axes, const mpi::Communicator& parent, const Mesh& whole) : Mesh(std::move(axes), parent) {
  crowded_ = whole.crowded();
}

const Group& Mesh::group(const Axes& axes) const {
  if (const auto known = groups_.find(axes); known != groups_.end()) return known->second;
  require_distinct(axes, axes_);
  const Axes ordered = axes_.in_mesh_order(axes);
  auto& comm = comms_[ordered];
  if (!comm) {
    std::vector<int> members;
    for (const Index rank : axes_.group(rank(), ordered)) members.push_back(static_cast<int>(rank));
    comm = std::make_unique<mpi::Communicator>(comm_.subgroup(members));
  }
  Group group;
  group.axes = axes;
  group.comm = comm.get();
  group.mesh_ranks = axes_.group(rank(), axes);
  for (const Index rank : group.mesh_ranks) {
    group.ranks.push_back(static_cast<int>(axes_.position_in_group(rank, ordered)));
  }
  const int node = nodes_[static_cast<std::size_t>(group.mesh_ranks.front())];
  group.one_node = std::all_of(group.mesh_ranks.begin(), group.mesh_ranks.end(),
                               [&](Index rank) { return nodes_[static_cast<std::size_t>(rank)] == node; });
  group.position = static_cast<int>(axes_.position_in_group(rank(), axes));
  return groups_.emplace(axes, std::move(group)).first->second;
}

const Group& Mesh::moving_group(const Axes& axes) const {
  if (const auto known = moving_groups_.find(axes); known != moving_groups_.end()) return known->second;
  Axes moving;
  for (const Axis& axis : axes) {
    if (axes_.size(axis) > 1) moving.push_back(axis);
  }
  Group group;
  if (moving.empty()) {
    group.ranks = {0};
    group.mesh_ranks = {rank()};
  } else {
    group = this->group(moving);
  }
  return moving_groups_.emplace(axes, std::move(group)).first->second;
}

}  // namespace shardline
