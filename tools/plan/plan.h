#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// Adds `shardline plan`; `run` is set when it is the subcommand that was asked for. It does not start MPI.
void add_plan(CLI::App& app, Command& run);

}  // namespace shardline::tools
