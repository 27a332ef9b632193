#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// Adds `shardline tokenize`: it writes the token ids of texts into a file that `train` reads.
void add_tokenize(CLI::App& app, Command& run);

}  // namespace shardline::tools
