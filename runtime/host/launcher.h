#pragma once

#include <functional>
#include <string>

namespace shardline {

/// Gives the value of an environment variable, or null; std::getenv, or what a test makes up.
using Variables = std::function<const char*(const char*)>;

/// What is wrong when processes that a launcher started together do not find each other.
struct LauncherFault {
  std::string message;   ///< one line; empty when nothing is wrong
  bool reports = false;  ///< this is the process that prints it: the first that can know
};

/// True in the process that prints, as far as it can know without MPI: launchers number their processes.
bool launched_first(const Variables& variables);

/// What is wrong if MPI has one rank only: nothing unless a launcher says more. Then this launcher belongs to another
/// MPI than the one in use, whose version is `library`. Several launchers may have left variables, since one can start
/// another: nothing is wrong where one of them says one rank. Slurm and Flux count only where no other launcher
/// has left variables, and of Slurm only its steps do: a batch script runs once, however many tasks its job may have.
/// To be called before MPI starts, which may set such variables.
LauncherFault launcher_fault(const std::string& library, const Variables& variables);

}  // namespace shardline
