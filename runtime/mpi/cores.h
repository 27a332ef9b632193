#pragma once

#include <vector>

#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Collective over `node`, ranks of one node: the CPUs that they may use, together, by the numbers Linux gives them.
std::vector<int> cpus_of(const Communicator& node);
/// Likewise: how many these are.
int cores_of(const Communicator& node);

}  // namespace shardline::mpi
