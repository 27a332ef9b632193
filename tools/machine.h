#pragma once

#include <optional>
#include <string>

#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// Where a job runs and how it shares the machine; cores and ranks are those of rank 0's node.
struct JobMachine {
  std::string host;
  int cores = 1;  ///< that the ranks of the node may use
  int ranks_per_node = 1;
  int nodes = 1;
  Bytes memory_per_rank;     ///< that a rank may take at most, by what is installed and by limits; free or not
  int threads_per_rank = 1;  ///< of the BLAS; equal on every rank
  std::string blas;          ///< name, version and the kernel it chose
  std::string mpi;
  std::string timing_fault;  ///< why timings mean nothing; empty when they do
};

/// Of the machine that this process runs on.
std::string host_name();
/// The time, as in 2026-01-31T12:00:00Z.
std::string utc_now();
/// How this process was called, quoted so that a shell takes it; empty where the system does not tell.
std::string command_line();

/// Collective over `world`. Gives every rank the same answer and sets the threads of its BLAS: `threads` when given,
/// else as many as its node's cores allow, on the node that allows least. Throws UsageError when `threads` is below 1
/// or more than four times the cores.
JobMachine share_machine(const mpi::Communicator& world, std::optional<int> threads);

}  // namespace shardline::tools
