#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// Adds `shardline plan`. Parsing sets `run` if this is the requested subcommand. It does not start
/// MPI.
void add_plan(CLI::App& app, Command& run);

}  // namespace shardline::tools
