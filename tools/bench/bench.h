#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline bench`: bandwidth of collectives by size and algorithm, every row checked.
void add_bench(CLI::App& app, Command& run);

}  // namespace shardline::tools
