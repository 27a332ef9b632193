#include "program/run/stage_ranks.h"

namespace shardline {
namespace {

mpi::Communicator ranks_within(const Mesh& mesh, const Axis& axis) {
  const Index stage = mesh.coordinates()[mesh.axes().position(axis)];
  return mesh.comm().split(static_cast<int>(stage), static_cast<int>(mesh.rank()));
}

/// The ranks that differ only in their stage, by stage.
mpi::Communicator ranks_across(const Mesh& mesh, const Axis& axis) {
  return mesh.comm().split(static_cast<int>(mesh.axes().group(mesh.rank(), {axis}).front()),
                           static_cast<int>(mesh.rank()));
}

}  // namespace

StageRanks::StageRanks(const Mesh& mesh, const Axis& axis)
    : within_(mesh.axes().without(axis), ranks_within(mesh, axis), mesh),
      across_(AbstractMesh({{axis, mesh.axes().size(axis)}}), ranks_across(mesh, axis), mesh),
      engine_(within_),
      moves_(across_) {}

}  // namespace shardline
