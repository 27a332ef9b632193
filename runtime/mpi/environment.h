#pragma once

#include <functional>
#include <string>

namespace shardline::mpi {

/// MPI from start to end of a process; one per process, made first in main. The destructor finalizes.
class Environment {
 public:
  /// Initialises MPI (funneled threads) with errors returned rather than fatal. Throws Error when it cannot.
  Environment(int* argc, char*** argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// Runs `body` as the whole of a process's work and returns its exit code: on every rank the largest that `body`
/// returned on any. A UsageError that every rank throws is printed once, by world rank 0, and gives exit code 2 on
/// every rank; a ResultError likewise gives 1. Any other exception prints rank and message and ends the whole job with
/// MPI_Abort. One of the two thrown on some ranks only ends the job too, so that no rank is left waiting: code that can
/// fail on one rank alone must agree first (see on_root()).
int run_guarded(const std::function<int()>& body);

/// MPI library name and version on one line.
std::string library_version();

}  // namespace shardline::mpi
