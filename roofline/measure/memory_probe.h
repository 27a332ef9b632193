#pragma once

#include "roofline/machine/machine.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// Memory bandwidth of a rank while all ranks are busy. The slowest rank counts. Times a read, a copy and a
/// triad of doubles on arrays far larger than the caches. Also times the triad on smaller and smaller arrays,
/// down to the size of a core's own cache. Each figure takes `budget`. Does not measure the capacity.
/// Collective over `comm`.
Memory probe_memory(const mpi::Communicator& comm, Seconds budget);

/// Contention of the triad beyond the caches: the bandwidth with all ranks busy over that of one rank alone.
/// Collective over `comm`.
double probe_memory_contention(const mpi::Communicator& comm, Seconds budget);

}  // namespace shardline::roofline
