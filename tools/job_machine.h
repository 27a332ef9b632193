#pragma once

#include <optional>
#include <string>

#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// Where a job runs and how it shares the machine. Cores and ranks are those of rank 0's node.
struct JobMachine {
  std::string host;
  int cores = 1;  ///< cores that the ranks of the node may use
  int ranks_per_node = 1;
  int nodes = 1;
  Bytes memory_per_rank;     ///< the most that a rank may take, by installed memory and limits; free or not
  int threads_per_rank = 1;  ///< of the BLAS; equal on every rank
  std::string blas;          ///< name, version and the kernel it chose
  std::string mpi;
  std::string timing_fault;  ///< why timings mean nothing; empty if they are valid
};

/// The host of this process.
std::string host_name();
/// The time, as in 2026-01-31T12:00:00Z.
std::string utc_now();
/// The command line of this process, quoted for a shell. Empty if the system does not tell.
std::string command_line();

/// Collective over `world`. Gives every rank the same answer, and sets the BLAS threads: `threads`
/// if given, else as many as the cores of a node allow, on the node with the fewest. Throws
/// UsageError if `threads` is below 1 or more than four times the cores.
JobMachine share_machine(const mpi::Communicator& world, std::optional<int> threads);

}  // namespace shardline::tools
