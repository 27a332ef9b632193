#pragma once

#include <CLI/CLI.hpp>

#include <iostream>
#include <sstream>

#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"

namespace shardline {

/// Reads the arguments of a benchmark under mpirun. False if they only ask for help; rank 0 has
/// printed it then. Throws UsageError on every rank if they are wrong.
inline bool parse_arguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    if (mpi::Communicator::world().rank() == 0) std::cout << text.str() << std::flush;
    return false;
  } catch (const CLI::ParseError& error) {
    usage_error("{}; see {} --help", error.what(), app.get_name());
  }
}

}  // namespace shardline
