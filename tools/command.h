#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace shardline::tools {

/// What a subcommand does once its arguments have parsed: runs on every rank and returns the exit code. Bad arguments
/// are UsageErrors thrown on every rank.
using Command = std::function<int()>;

/// The same of a subcommand that does not start MPI. It prints and writes only when `speaks` is true.
using QuietCommand = std::function<int(bool speaks)>;

}  // namespace shardline::tools
