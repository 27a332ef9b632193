#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace shardline::tools {

/// What a subcommand does once its arguments have parsed; returns the exit code. It runs on every rank, and bad
/// arguments are UsageErrors thrown on every rank; one that does not start MPI runs on the rank that prints.
using Command = std::function<int()>;

/// The exit code of a command that a signal asked to stop and that ended in order, as shells have it for SIGINT.
inline constexpr int kInterrupted = 130;

}  // namespace shardline::tools
