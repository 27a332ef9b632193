#pragma once

#include <vector>

#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Collective over `node`, ranks of one node: all CPUs that these ranks may use, by their Linux
/// numbers.
std::vector<int> cpus_of(const Communicator& node);
/// Collective over `node`: the number of these CPUs.
int cores_of(const Communicator& node);

}  // namespace shardline::mpi
