#include "tools/calibrate.h"

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "program/run/program_samples.h"
#include "roofline/machine/machine_file.h"
#include "roofline/measure/calibrate.h"
#include "runtime/base/check.h"
#include "runtime/trace/clock.h"
#include "tools/job.h"
#include "tools/options/number_option.h"
#include "tools/output/output.h"
#include "tools/output/text.h"
#include "tools/trace/busy.h"
#include "tools/version.h"

namespace shardline::tools {
namespace {

struct CalibrateOptions {
  CommonOptions common;
  std::string output;
  double seconds = 50;
};

constexpr const char* kCalibrateFooter = R"(
Example: measures two ranks of this machine and what joins them, then predicts by that.

  mpirun -n 2 shardline calibrate -o machine.json
  mpirun -n 2 shardline train --machine machine.json

Start it as the programs will be started whose times are to be predicted: the same ranks, mesh, binding and threads. All
ranks are busy at once, the slowest counts, and everything is measured up to fifteen times within a minute; a figure
of whose repetitions the middle half lies further apart than 6% is named as not reliable. Leave the machine alone
meanwhile.)";

/// "X=2,Y=4"
std::string axes_text(const AbstractMesh& mesh) {
  std::vector<std::string> parts;
  for (const Axis& axis : mesh.axes()) parts.push_back(fmt::format("{}={}", axis, mesh.size(axis)));
  return fmt::format("{}", fmt::join(parts, ","));
}

/// Writes where, when and how it was measured. Keeps the notes on the figures.
void describe_measurement(Job& job, roofline::Provenance& measured) {
  const JobMachine& machine = job.machine();
  measured.host = machine.host;
  measured.date = utc_now();
  measured.mesh = axes_text(job.mesh().axes());
  measured.nodes = machine.nodes;
  measured.cores = machine.cores;
  measured.ranks_per_node = machine.ranks_per_node;
  measured.threads_per_rank = machine.threads_per_rank;
  measured.blas = machine.blas;
  measured.mpi = machine.mpi;
  measured.commit = commit();
  if (const auto& busiest = job.other_work().busiest()) measured.busy_with_others = busiest->share;
}

std::string compute_text(const roofline::Machine& machine) {
  std::string text;
  for (const auto& [dtype, compute] : machine.compute) {
    const std::string by = compute.library ? fmt::format(" by {}", kernels::name_of(*compute.library)) : "";
    text += fmt::format("products in {:<5} {} at best{}", name_of(dtype), to_string(compute.peak), by);
    for (const Index size : compute.gemm.sizes()) {
      text += fmt::format(", {} of {}", to_string(compute.gemm.at(size, size, size)), size);
    }
    text += "\n";
  }
  return text;
}

std::string memory_text(const roofline::Memory& memory) {
  std::string text = fmt::format("memory            read {}, copy {}, triad {} ({} with the lines it allocates)\n",
                                 to_string(memory.read), to_string(memory.copy), to_string(memory.triad),
                                 to_string(memory.triad_allocating));
  text += "triad by size    ";
  for (const auto& [size, rate] : memory.caches.points()) {
    text += fmt::format(" {} {};", to_string(Bytes(size)), to_string(BytesPerSecond(rate)));
  }
  return text + "\n";
}

std::string links_text(const roofline::Machine& machine) {
  std::string text;
  for (const auto& [axis, name] : machine.axes) {
    const roofline::Resource& link = machine.resources.at(name);
    text += fmt::format("axis {:<12} {} ({}): messages {} + {} one way, {} both ways, within {:.0f}%\n", axis, name,
                        name_of(link.kind), to_string(link.latency), to_string(link.one_way), to_string(link.both_ways),
                        100 * link.residual);
    if (!link.shared) continue;
    text += fmt::format("                  read in place {} + ", to_string(link.shared->latency));
    for (const auto& [size, rate] : link.shared->copy.points()) {
      text += fmt::format("{} {}; ", to_string(Bytes(size)), to_string(BytesPerSecond(rate)));
    }
    text += "added ";
    for (const auto& [size, rate] : link.shared->add.points()) {
      text += fmt::format("{} {}; ", to_string(Bytes(size)), to_string(BytesPerSecond(rate)));
    }
    text += "\n";
  }
  return text;
}

std::string machine_summary(const roofline::Machine& machine, Seconds took) {
  std::string text = compute_text(machine) + memory_text(machine.memory) + links_text(machine);
  text += fmt::format("an operation      {} beside its work\n", to_string(machine.overhead));
  text += fmt::format("all ranks busy    products at {:.0f}%, memory at {:.0f}% of what one rank alone has\n",
                      100 * machine.contention.gemm, 100 * machine.contention.memory);
  const std::size_t unreliable = machine.measured.unreliable.size();
  return text + fmt::format("\nmeasured in {}; {} figure{} not reliable{}\n", to_string(took), unreliable,
                            unreliable == 1 ? " is" : "s are",
                            unreliable == 0 ? "" : ", named in the file under measured.unreliable");
}

Json links_json(const roofline::Machine& machine) {
  Json links = Json::array();
  for (const auto& [axis, name] : machine.axes) {
    const roofline::Resource& link = machine.resources.at(name);
    links.push_back({{"axis", axis},
                     {"resource", name},
                     {"kind", name_of(link.kind)},
                     {"latency_s", link.latency.value},
                     {"bandwidth_one_way", link.one_way.value},
                     {"bandwidth_two_way", link.both_ways.value},
                     {"residual", link.residual}});
  }
  return links;
}

int calibrate(const CalibrateOptions& options) {
  CommandFiles files = files_of(options.common);
  files.outputs.push_back({"-o", "machine", options.output});
  Job job(options.common, files);
  job.require_memory("calibrate", {.own = roofline::kCalibrationMemory, .shared = roofline::kCalibrationShared});
  job.introduce();
  const Seconds begin = now();
  job.other_work().begin();
  roofline::Machine machine =
      roofline::calibrate(job.engine(), {.samples = program_samples(), .most = Seconds(options.seconds)});
  job.other_work().end();
  machine.name = job.machine().host;
  machine.memory.capacity = job.machine().memory_per_rank;
  describe_measurement(job, machine.measured);
  const std::string text = roofline::machine_text(machine);
  job.print(machine_summary(machine, now() - begin) + busy_line(job.other_work().busiest()));
  job.write_file(options.output, text);
  if (options.output != kStandardOutput && all_is_written()) job.print(fmt::format("written to {}\n", options.output));
  Json record = job.header("shardline.calibrate/1", "calibrate");
  const Json file = Json::parse(text);
  record["gemm"] = file["compute"];
  record["memory"] = file["memory"];
  record["links"] = links_json(machine);
  job.write_json(record);
  return 0;
}

}  // namespace

void add_calibrate(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure this machine, for predictions by --machine");
  const auto options = std::make_shared<CalibrateOptions>();
  command->add_option("-o,--output", options->output, "Write the machine to this file; - is standard output")
      ->check(not_empty())
      ->required();
  add_decimal_option(*command,
                     {.name = "--seconds", .help = "Measure for so long, but everything once", .positive = true},
                     options->seconds);
  add_mesh_options(*command, options->common);
  add_json_option(*command, options->common);
  command->footer(kCalibrateFooter);
  command->callback([options, &run] { run = [options] { return calibrate(*options); }; });
}

}  // namespace shardline::tools
