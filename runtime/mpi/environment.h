#pragma once

#include <functional>
#include <string>

namespace shardline::mpi {

/// MPI from start to end of a process. One per process, made first in main. The destructor
/// finalizes MPI.
class Environment {
 public:
  /// Initialises MPI (funneled threads). MPI faults return errors and do not abort. Throws Error if
  /// MPI cannot start.
  Environment(int* argc, char*** argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// Runs `body` as all the work of the process. Every rank returns the largest exit code of any
/// rank. If every rank throws a UsageError, world rank 0 prints it once and every rank returns 2. A
/// ResultError acts the same, with 1. Any other exception prints rank and message, and MPI_Abort
/// ends the whole job. If only some ranks throw a UsageError or ResultError, the job ends too, so
/// no rank waits for ever. Code that can fail on one rank alone must agree first (see on_root()).
int run_guarded(const std::function<int()>& body);

/// MPI library name and version on one line.
std::string library_version();

}  // namespace shardline::mpi
