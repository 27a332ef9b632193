#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline train`: trains a Transformer on text under a strategy and shows every operation's time beside its price.
void add_train(CLI::App& app, Command& run);

}  // namespace shardline::tools
