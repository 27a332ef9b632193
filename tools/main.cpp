// The `shardline` command: a file per subcommand, each of which adds itself here.

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <thread>

#include "kernels/gemm/gemm.h"
#include "runtime/base/check.h"
#include "runtime/host/launcher.h"
#include "runtime/mpi/communicator.h"
#include "runtime/mpi/environment.h"
#include "tools/bench/bench.h"
#include "tools/book/book.h"
#include "tools/calibrate.h"
#include "tools/command.h"
#include "tools/explain.h"
#include "tools/export.h"
#include "tools/generate.h"
#include "tools/matmul.h"
#include "tools/memory.h"
#include "tools/options/arguments.h"
#include "tools/output/output.h"
#include "tools/output/text.h"
#include "tools/parity.h"
#include "tools/plan/plan.h"
#include "tools/tokens/tokenize.h"
#include "tools/train.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

std::string version_text() {
  return fmt::format("shardline {} (commit {})\n{}\n{}", version(), commit(), mpi::library_version(),
                     kernels::blas_description());
}

/// The names of the commands: "matmul, train and generate".
std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return listed(names);
}

std::string no_command(const CLI::App& app, const std::string& name) {
  return fmt::format("there is no command '{}'; there are {}", name, command_names(app));
}

/// True for the commands that do not start MPI.
bool is_quiet(const std::string& command) { return command == "explain" || command == "plan" || command == "book"; }

/// The fault that CLI11 found, on one line, and where to find help.
std::string one_line(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty() && !unknown.empty() && !unknown[0].starts_with('-')) {
    return no_command(app, as_typed(unknown[0]));
  }
  std::string text = as_typed(error.what());
  for (char& c : text) c = c == '\n' ? ' ' : c;
  constexpr std::string_view kValueOfSwitch = " was given a disallowed flag override";
  if (text.ends_with(kValueOfSwitch)) {
    text = fmt::format("--{}: a switch, it takes no value", text.substr(0, text.size() - kValueOfSwitch.size()));
  }
  const auto commands = app.get_subcommands();
  return fmt::format("{}; see shardline {}--help", text, commands.empty() ? "" : commands[0]->get_name() + " ");
}

void add_alone_option(CLI::App& command, bool& alone) {
  command.add_flag("--alone", alone, "Run with one rank although a launcher of another MPI says that there are more");
}

/// What the arguments ask for.
struct Request {
  Command run;         ///< run it on every rank, under MPI,
  Command quiet;       ///< or without MPI;
  std::string text;    ///< or print this: help or version;
  std::string fault;   ///< or report this fault of the arguments
  bool alone = false;  ///< run with one rank, even if a launcher says that there are more
};

/// Adds `help`. It prints for a command what its --help prints.
void add_help(CLI::App& app, Request& request) {
  CLI::App* command = app.add_subcommand("help", "Print the help of a command");
  const auto name = std::make_shared<std::string>();
  command->add_option("COMMAND", *name, "Of the commands above [all of them, a line each]");
  command->callback([&app, &request, name] {
    const std::vector<CLI::App*> asked =
        app.get_subcommands([&](const CLI::App* each) { return each->get_name() == *name; });
    if (!name->empty() && asked.empty()) {
      request.fault = no_command(app, *name);
    } else {
      request.text = name->empty() ? app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal)
                                   : asked[0]->help(app.get_name());
    }
  });
}

Request parse(int argc, char** argv) {
  CLI::App app{"Runs, prices and explains sharded tensor programs over MPI.", "shardline"};
  app.option_defaults()->disable_flag_override();  // a switch takes no value
  app.set_version_flag("--version", version_text, "Print the versions of shardline, MPI and BLAS");
  app.require_subcommand(0, 1);  // no command is refused below, so a wrong command name gets its own message
  Request request;
  add_matmul(app, request.run);
  add_explain(app, request.quiet);
  add_plan(app, request.quiet);
  add_train(app, request.run);
  add_generate(app, request.run);
  add_tokenize(app, request.run);
  add_export(app, request.run);
  add_parity(app, request.run);
  add_bench(app, request.run);
  add_calibrate(app, request.run);
  add_book(app, request.quiet);
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    if (!is_quiet(command->get_name())) add_alone_option(*command, request.alone);
  }
  add_help(app, request);
  try {
    parse_as_typed(app, {argv + 1, argv + argc});
    if (app.get_subcommands().empty()) request.fault = "no command given; see shardline --help";
  } catch (const CLI::Success& asked) {  // --help or --version
    std::ostringstream text;
    app.exit(asked, text, text);
    request.text = text.str();
  } catch (const CLI::ParseError& error) {
    request.fault = one_line(app, error);
    request.run = nullptr;
  }
  return request;
}

/// The exit code of a command that returned `code`. Success also needs that all output has arrived.
int exit_code_of(int code) { return all_is_written() || code != 0 ? code : 1; }

/// Runs without MPI, on the rank that prints. Errors end as in mpi::run_guarded(). Other ranks must
/// not fail: the launcher would end the printing rank before it has given the reason.
int run_quietly(const Request& request) {
  if (!launched_first(std::getenv)) return 0;
  try {
    if (!request.fault.empty()) throw UsageError(request.fault);
    print(request.text);
    return exit_code_of(request.quiet == nullptr ? 0 : request.quiet());
  } catch (const UsageError& error) {
    note(error.what());
    return 2;
  } catch (const std::exception& error) {
    note(error.what());
    return 1;
  }
}

/// Ends a process that was started with others but cannot find them. Each process takes itself for
/// the only rank. So one prints, and the others wait until that is read: the launcher may end the
/// job when the first one ends.
int refuse_launcher(const LauncherFault& fault) {
  if (fault.reports) {
    note(fault.message);
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return 2;
}

/// Runs under MPI.
int run_on_ranks(int argc, char** argv, const Request& request) {
  const LauncherFault fault = launcher_fault(mpi::library_version(), std::getenv);
  const mpi::Environment environment(&argc, &argv);
  const bool must_not_be_alone = !request.alone && !fault.message.empty();
  if (must_not_be_alone && mpi::Communicator::world().size() == 1) return refuse_launcher(fault);
  return mpi::run_guarded([&] { return exit_code_of(request.run()); });
}

}  // namespace
}  // namespace shardline::tools

int main(int argc, char** argv) {
  shardline::tools::hold_standard_streams();
  shardline::tools::keep_freed_memory();
  const shardline::tools::Request request = shardline::tools::parse(argc, argv);
  if (request.run == nullptr) return shardline::tools::run_quietly(request);
  return shardline::tools::run_on_ranks(argc, argv, request);
}
