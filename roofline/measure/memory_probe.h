#pragma once

#include "roofline/machine/machine.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// Memory bandwidth of a rank while all are busy: reading, copying and a triad of doubles over arrays far beyond the
/// caches, and the triad over less and less down to what a core keeps to itself; the slowest rank counts. `budget` is
/// spent on each figure. The capacity is not measured. Collective over `comm`.
Memory probe_memory(const mpi::Communicator& comm, Seconds budget);

/// Bandwidth of the triad beyond the caches with all ranks busy over that of one rank alone. Collective over `comm`.
double probe_memory_contention(const mpi::Communicator& comm, Seconds budget);

}  // namespace shardline::roofline
