#include "tools/options/common_options.h"

#include <CLI/CLI.hpp>

#include <limits>

#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "tools/options/number_option.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

std::vector<std::string> names_of(const std::vector<DType>& dtypes) {
  std::vector<std::string> names;
  for (const DType dtype : dtypes) names.emplace_back(name_of(dtype));
  return names;
}

}  // namespace

CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? "it is empty" : ""; }, ""};
}

DType dtype_of(const CommonOptions& options) {
  for (const DType dtype : options.dtypes) {
    if (options.dtype == name_of(dtype)) return dtype;
  }
  require(options.dtype != name_of(DType::int8),
          "--dtype int8: nothing is run in int8, explain alone prices it; {} are known here",
          listed(names_of(options.dtypes)));
  usage_error("--dtype {}: {} are known", options.dtype, listed(names_of(options.dtypes)));
}

CommandFiles files_of(const CommonOptions& options) {
  return {.inputs = {{"--machine", "machine", options.machine.file}}, .outputs = {{"--json", "record", options.json}}};
}

CLI::Option* add_dtype_option(CLI::App& command, CommonOptions& options) {
  return command.add_option("--dtype", options.dtype, "Element type: " + listed(names_of(options.dtypes), "or"))
      ->capture_default_str()
      ->check(not_empty());
}

void add_json_option(CLI::App& command, CommonOptions& options) {
  command.add_option("--json", options.json, "Write the record of the run to this file; - is standard output")
      ->check(not_empty());
}

CLI::Option* add_hardware_option(CLI::App& command, std::string& name, const std::string& purpose) {
  return command
      .add_option("--hardware", name, fmt::format("{} {}", purpose, listed(roofline::hardware_names(), "or")))
      ->check(not_empty())
      ->capture_default_str();
}

void add_show_option(CLI::App& command, bool& show) {
  command.add_flag("--show", show, "Draw which rank holds which block of every array, in each layout that it takes");
}

void add_mesh_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--mesh", options.mesh, "Mesh axes and their sizes, major first, as in X=2,Y=4 [X=<ranks>]")
      ->check(not_empty());
  add_whole_option(command, {.name = "--threads", .help = "BLAS threads of a rank [cores of the node / its ranks]"},
                   options.threads);
  command.add_flag_callback(
      "--no-memory-check", [&options] { options.memory_check = false; }, "Start although memory will not suffice");
}

void add_common_options(CLI::App& command, CommonOptions& options) {
  add_mesh_options(command, options);
  add_dtype_option(command, options);
  add_whole_option(command,
                   {.name = "--seed",
                    .help = "Seed of everything drawn at random",
                    .least = 0,
                    .most = std::numeric_limits<std::uint64_t>::max()},
                   options.seed);
  add_json_option(command, options);
}

CLI::Option* add_machine_options(CLI::App& command, MachineFlags& flags) {
  CLI::Option* file =
      command.add_option("--machine", flags.file, "Decide and predict by the figures of this file (docs/roofline.md)")
          ->check(not_empty());
  command.add_flag("--other-machine", flags.other, "Take the figures of --machine although of another host")
      ->needs(file);
  return file;
}

void add_schedule_options(CLI::App& command, ScheduleFlags& flags, const std::string& prefetched) {
  command
      .add_option(
          "--fuse", flags.fuse,
          "Collective matmuls, and rings of attention: auto (where the price favours them), on (wherever they can be), "
          "off")
      ->capture_default_str();
  if (prefetched.empty()) return;
  command
      .add_option("--overlap", flags.overlap,
                  "on: between nodes collectives go on while the ranks compute; off: each begins and ends at its place")
      ->capture_default_str();
  add_whole_option(command, {.name = "--prefetch", .help = prefetched, .least = 0, .most = 1000}, flags.prefetch);
}

void add_trace_option(CLI::App& command, std::string& path) {
  command
      .add_option("--trace", path,
                  "Write what every rank did when to this file, for ui.perfetto.dev or chrome://tracing")
      ->check(not_empty());
}

void add_report_option(CLI::App& command, std::string& path, const std::string& what) {
  command
      .add_option("--report", path,
                  "Write a page about " + what + " to this HTML file, which needs nothing else (docs/reports.md)")
      ->check(not_empty());
}

}  // namespace shardline::tools
