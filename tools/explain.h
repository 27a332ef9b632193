#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline explain`: one product of sharded arrays, derived and priced for any machine and any mesh, without MPI.
void add_explain(CLI::App& app, Command& run);

}  // namespace shardline::tools
