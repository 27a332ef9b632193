#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline parity`: trains a tiny model under every layout that fits the ranks, and compares with one rank.
void add_parity(CLI::App& app, Command& run);

}  // namespace shardline::tools
