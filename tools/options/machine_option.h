#pragma once

#include <string>
#include <vector>

#include "roofline/machine/machine.h"
#include "runtime/layout/abstract_mesh.h"
#include "tools/job_machine.h"

namespace shardline::tools {

/// The flags that choose the machine figures.
struct MachineFlags {
  std::string file;  ///< describes the machine; empty for none
  bool other = false;
};

/// The machine of the given file.
struct GivenMachine {
  std::string file;
  roofline::Machine machine;
  std::string hash;
};

/// The machine that `text`, the content of the file of `flags`, describes. The run is on `host`.
/// Throws UsageError with both hosts if the file is of another host, unless `flags` allow it. Else
/// throws as parse_machine() does.
GivenMachine given_machine(const MachineFlags& flags, const std::string& text, const std::string& host);

/// One sentence per difference between this run (on `mesh`, on machine `here`) and the run that
/// measured the given machine. Without `here` nothing runs, and only the mesh is compared.
std::vector<std::string> machine_differences(const GivenMachine& given, const AbstractMesh& mesh,
                                             const JobMachine* here);

}  // namespace shardline::tools
