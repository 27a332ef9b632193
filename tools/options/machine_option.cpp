#include "tools/options/machine_option.h"

#include "roofline/machine/machine_file.h"
#include "runtime/base/check.h"
#include "tools/trace/busy.h"

namespace shardline::tools {

GivenMachine given_machine(const MachineFlags& flags, const std::string& text, const std::string& host) {
  GivenMachine given{flags.file, roofline::parse_machine(text, flags.file), {}};
  const std::string& measured_on = given.machine.measured.host;
  require(flags.other || measured_on.empty() || measured_on == host,
          "--machine {}: measured on host {}, this is {}; --other-machine takes its figures all the same", flags.file,
          measured_on, host);
  given.hash = roofline::machine_hash(given.machine);
  return given;
}

std::vector<std::string> machine_differences(const GivenMachine& given, const AbstractMesh& mesh,
                                             const JobMachine* here) {
  const roofline::Provenance& measured = given.machine.measured;
  if (measured.host.empty()) return {fmt::format("{} does not say where it was measured", given.file)};
  std::vector<std::string> differences;
  const auto compare = [&](const auto& then, const auto& now, const std::string& what) {
    if (then != now)
      differences.push_back(fmt::format("{} was measured with {} {}, here are {}", given.file, then, what, now));
  };
  const AbstractMesh measured_mesh = AbstractMesh::parse(measured.mesh);
  if (measured_mesh != mesh) {
    differences.push_back(
        fmt::format("{} was measured on mesh {}, this is {}", given.file, measured_mesh.to_string(), mesh.to_string()));
  }
  if (measured.busy_with_others.value_or(0) >= kBusy) {
    differences.push_back(fmt::format("{} was measured while other work took {:.2f} of the cores' time", given.file,
                                      *measured.busy_with_others));
  }
  if (here == nullptr) return differences;
  compare(measured.ranks_per_node, here->ranks_per_node, "ranks per node");
  compare(measured.threads_per_rank, here->threads_per_rank, "threads per rank");
  return differences;
}

}  // namespace shardline::tools
