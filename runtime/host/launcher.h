#pragma once

#include <functional>
#include <string>

namespace shardline {

/// Gives the value of an environment variable, or null. It is std::getenv, or a test's replacement.
using Variables = std::function<const char*(const char*)>;

/// The fault when a launcher started several processes that do not find each other.
struct LauncherFault {
  std::string message;   ///< one line; empty when nothing is wrong
  bool reports = false;  ///< this process prints the message: it is the first that can detect the fault
};

/// True in the process that prints. It is found without MPI, from the numbers that launchers give
/// to processes.
bool launched_first(const Variables& variables);

/// The fault if MPI has one rank only. There is no fault unless a launcher says that it started
/// more processes. Then the launcher belongs to another MPI than the one in use, whose version is
/// `library`. Several launchers may have set variables, because one can start another. There is no
/// fault if one of them says one rank. Slurm and Flux count only if no other launcher has set
/// variables. Of Slurm only steps count: a batch script runs once for all tasks of its job. Call it
/// before MPI starts: MPI may set such variables.
LauncherFault launcher_fault(const std::string& library, const Variables& variables);

}  // namespace shardline
