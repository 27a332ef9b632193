#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// Adds `shardline export`: it writes a model as a file for llama.cpp.
void add_export(CLI::App& app, Command& run);

}  // namespace shardline::tools
