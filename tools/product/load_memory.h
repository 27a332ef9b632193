#pragma once

#include <string>

#include "tools/job.h"

namespace shardline::tools {

/// Collective over all ranks: refuses a model of which not every rank can hold the whole, before any of it is read.
/// Returns what it takes as long as it is held.
Bytes require_memory_to_load(const Job& job, const std::string& folder);

}  // namespace shardline::tools
