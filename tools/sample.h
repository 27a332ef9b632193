#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline sample`: continues a text with a trained model.
void add_sample(CLI::App& app, Command& run);

}  // namespace shardline::tools
