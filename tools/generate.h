#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline generate`: continues texts with a trained model.
void add_generate(CLI::App& app, Command& run);

}  // namespace shardline::tools
