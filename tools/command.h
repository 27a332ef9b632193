#pragma once

#include <functional>

/// Only files that declare options include <CLI/CLI.hpp>, which is slow to compile.
namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace shardline::tools {

/// The work of a subcommand after parsing; returns the exit code. It runs on every rank, and every
/// rank throws UsageError for bad arguments. A command without MPI runs on the rank that prints.
using Command = std::function<int()>;

/// The exit code of a command that a signal stopped in order. Shells use it for SIGINT.
inline constexpr int kInterrupted = 130;

}  // namespace shardline::tools
