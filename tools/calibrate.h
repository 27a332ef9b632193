#pragma once

#include "tools/command.h"

namespace shardline::tools {

/// `shardline calibrate`: measures the machine under the ranks of the job and writes it to a file.
void add_calibrate(CLI::App& app, Command& run);

}  // namespace shardline::tools
