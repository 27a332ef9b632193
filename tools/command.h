#pragma once

#include <functional>

/// Only files that declare options include <CLI/CLI.hpp>, which is slow to compile.
namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace shardline::tools {

/// What a subcommand does once its arguments have parsed; returns the exit code. It runs on every rank, and bad
/// arguments are UsageErrors thrown on every rank; one that does not start MPI runs on the rank that prints.
using Command = std::function<int()>;

/// The exit code of a command that a signal asked to stop and that ended in order, as shells have it for SIGINT.
inline constexpr int kInterrupted = 130;

}  // namespace shardline::tools
