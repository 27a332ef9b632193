#pragma once

#include <string>

#include "runtime/layout/abstract_mesh.h"
#include "tools/job.h"

namespace shardline::tools {

/// The first keys in the record of a command that runs nothing. They are the keys of Job::header().
/// Values that need MPI are null, and `valid_timing` is false.
Json quiet_header(const std::string& schema, const std::string& command, const AbstractMesh& mesh);

}  // namespace shardline::tools
