// The `shardline` command: a file per subcommand, each of which adds itself here.

#include <iostream>
#include <sstream>

#include "kernels/gemm.h"
#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "tools/bench.h"
#include "tools/command.h"
#include "tools/matmul.h"
#include "tools/memory.h"
#include "tools/sample.h"
#include "tools/text.h"
#include "tools/train.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

std::string version_text() {
  return fmt::format("shardline {} (commit {})\n{}\n{}", version(), commit(), mpi::library_version(),
                     kernels::blas_description());
}

/// The names of the commands: "matmul, train and sample".
std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return listed(names);
}

/// What CLI11 found wrong, on one line, and where to read what is right.
std::string one_line(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty() && !unknown.empty() && !unknown[0].starts_with('-')) {
    return fmt::format("there is no command '{}'; there are {}", unknown[0], command_names(app));
  }
  std::string text = error.what();
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto commands = app.get_subcommands();
  return fmt::format("{}; see shardline {}--help", text, commands.empty() ? "" : commands[0]->get_name() + " ");
}

/// Runs on every rank: parses, and does what the arguments ask for.
int run(int argc, char** argv) {
  CLI::App app{"Runs, prices and explains sharded tensor programs over MPI.", "shardline"};
  app.set_version_flag("--version", version_text, "Print the versions of shardline, MPI and BLAS");
  app.require_subcommand(0, 1);  // none is refused below, so that a word that names no command is refused by name
  Action action;
  add_matmul(app, action);
  add_train(app, action);
  add_sample(app, action);
  add_bench(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    std::ostringstream text;
    app.exit(asked, text, text);
    if (mpi::Communicator::world().rank() == 0) std::cout << text.str() << std::flush;
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(one_line(app, error));
  }
  require(action != nullptr, "no command given; see shardline --help");
  return action();
}

}  // namespace
}  // namespace shardline::tools

int main(int argc, char** argv) {
  shardline::tools::keep_freed_memory();
  const shardline::mpi::Environment environment(&argc, &argv);
  return shardline::mpi::run_guarded([&] { return shardline::tools::run(argc, argv); });
}
