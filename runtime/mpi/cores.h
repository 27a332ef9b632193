#pragma once

#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Collective over `node`, ranks of one node: cores that they may use, together.
int cores_of(const Communicator& node);

}  // namespace shardline::mpi
