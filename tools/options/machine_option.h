#pragma once

#include <string>
#include <vector>

#include "roofline/machine/machine.h"
#include "runtime/layout/abstract_mesh.h"
#include "tools/machine.h"

namespace shardline::tools {

/// What people say about the machine whose figures count.
struct MachineFlags {
  std::string file;  ///< that describes it; empty for none
  bool other = false;
};

/// The machine of a file that was given.
struct GivenMachine {
  std::string file;
  roofline::Machine machine;
  std::string hash;
};

/// What `text`, read from the file of `flags`, describes, for a run on `host`. Throws UsageError that names both hosts
/// when it was measured on another one, unless `flags` allow it; otherwise as parse_machine() does.
GivenMachine given_machine(const MachineFlags& flags, const std::string& text, const std::string& host);

/// A sentence for everything by which a run on `mesh`, on the machine `here`, differs from the one that measured the
/// machine given. Without `here`, as nothing runs, of the mesh alone.
std::vector<std::string> machine_differences(const GivenMachine& given, const AbstractMesh& mesh,
                                             const JobMachine* here);

}  // namespace shardline::tools
