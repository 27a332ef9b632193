#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline matmul`: one product of sharded arrays, derived, run, checked and timed.
void add_matmul(CLI::App& app, Command& run);

}  // namespace shardline::tools
