#pragma once

#include <string>

#include "runtime/layout/abstract_mesh.h"
#include "tools/job.h"

namespace shardline::tools {

/// The keys that the record of a command that runs nothing starts with: those of Job::header(), with what is not known
/// without MPI null, and `valid_timing` false.
Json quiet_header(const std::string& schema, const std::string& command, const AbstractMesh& mesh);

}  // namespace shardline::tools
