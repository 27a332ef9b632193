#pragma once

#include <string>

#include "models/parity/parity.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// Links and rates. No test depends on their values.
inline roofline::Hardware any_hardware(const AbstractMesh& mesh) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) hardware.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return hardware;
}

/// Runs `body` on the first `ranks` ranks of the job, and lets the others wait.
template <class Body>
void on_first(const mpi::Communicator& world, int ranks, Body body) {
  const mpi::Communicator part = world.split(world.rank() < ranks ? 0 : 1, world.rank());
  if (world.rank() < ranks) body(part);
  world.barrier();
}

}  // namespace shardline
