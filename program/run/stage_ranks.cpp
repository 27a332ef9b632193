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

StageRanks::StageRanks(const collectives::Engine& all, const Axis& axis)
    : all_(all.mesh()),
      within_(all.mesh().axes().without(axis), ranks_within(all.mesh(), axis), all.mesh()),
      across_(AbstractMesh({{axis, all.mesh().axes().size(axis)}}), ranks_across(all.mesh(), axis), all.mesh()),
      engine_(within_),
      moves_(across_) {
  engine_.set_tuning(all.tuning());
  moves_.set_tuning(all.tuning());
  set_timeout(all.timeout());
  across_.moving_group({axis});  // no move may wait for ranks that take no part in it
}

void StageRanks::set_timeout(Seconds timeout) {
  engine_.set_timeout(timeout);
  moves_.set_timeout(timeout);
}

}  // namespace shardline
