#pragma once

#include "roofline/machine/machine.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// Memory bandwidth of a rank while all ranks are busy; the slowest rank counts. Reading, copying and a triad of
/// doubles are timed on arrays far larger than the caches. The triad is also timed on smaller and smaller arrays, down
/// to those that fit in a core's own cache. `budget` is spent on each figure. The capacity is not measured. Collective
/// over `comm`.
Memory probe_memory(const mpi::Communicator& comm, Seconds budget);

/// Bandwidth of the triad beyond the caches with all ranks busy over that of one rank alone. Collective over `comm`.
double probe_memory_contention(const mpi::Communicator& comm, Seconds budget);

}  // namespace shardline::roofline
