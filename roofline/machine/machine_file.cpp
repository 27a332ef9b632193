#include "roofline/machine/machine_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "roofline/machine/file_value.h"
#include "roofline/machine/machine_layout.h"
#include "runtime/base/check.h"
#include "runtime/base/hash.h"

namespace shardline::roofline {
namespace {

using collectives::Algorithm;
using collectives::Kind;
using collectives::LinkKind;
using collectives::Tuning;
using collectives::Wire;

constexpr std::array kDTypes = {DType::f32, DType::f64, DType::bf16, DType::int8};
constexpr std::array kResourceKinds = {ResourceKind::ring, ResourceKind::line, ResourceKind::switched,
                                       ResourceKind::shared_memory};
constexpr std::array kLibraries = {kernels::GemmLibrary::openblas, kernels::GemmLibrary::onednn};
constexpr std::array kWires = {Wire::exchange, Wire::f32, Wire::hop};
constexpr std::array kKinds = {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all, Kind::shift};
constexpr std::array kLinkKinds = {LinkKind::node, LinkKind::network};
constexpr std::array kAlgorithms = {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::doubling,
                                    Algorithm::direct};
constexpr std::array kShiftAlgorithms = {Algorithm::ring, Algorithm::direct};

constexpr Index kMostCount = 2147483647;
constexpr Index kMostSize = Tuning::kAny - 1;

int count_of(const FileValue& value) { return static_cast<int>(value.whole(1, kMostCount)); }

/// A positive number that may be missing. Missing gives 0: not known.
double known(const FileValue& object, const std::string& key) {
  const std::optional<FileValue> value = object.find(key);
  return value ? value->positive() : 0;
}

Provenance provenance_of(const FileValue& file) {
  file.allow_only({"host", "date", "mesh", "nodes", "cores", "ranks_per_node", "threads_per_rank", "blas", "mpi",
                   "commit", "busy_with_others", "unreliable"});
  Provenance measured{.host = file["host"].text(),
                      .date = file["date"].text(),
                      .mesh = file["mesh"].text(),
                      .nodes = count_of(file["nodes"]),
                      .cores = count_of(file["cores"]),
                      .ranks_per_node = count_of(file["ranks_per_node"]),
                      .threads_per_rank = count_of(file["threads_per_rank"]),
                      .blas = file["blas"].text(),
                      .mpi = file["mpi"].text(),
                      .commit = file["commit"].text()};
  try {
    static_cast<void>(AbstractMesh::parse(measured.mesh));
  } catch (const UsageError&) {
    file["mesh"].refuse("axes and their sizes, as in \"X=2,Y=4\"");
  }
  if (const std::optional<FileValue> share = file.find("busy_with_others")) measured.busy_with_others = share->share();
  if (const std::optional<FileValue> figures = file.find("unreliable")) {
    for (const FileValue& figure : figures->items()) measured.unreliable.push_back(figure.text());
  }
  return measured;
}

GemmRates gemm_of(const FileValue& file) {
  file.allow_only({"sizes", "flops_per_s"});
  std::vector<Index> sizes;
  for (const FileValue& value : file["sizes"].items()) {
    const Index size = value.whole(1, kMostSize);
    if (!sizes.empty() && size <= sizes.back())
      value.refuse(fmt::format("sizes rise, and it follows {}", sizes.back()));
    sizes.push_back(size);
  }
  std::vector<FlopsPerSecond> rates;
  for (const FileValue& value : file["flops_per_s"].items()) rates.emplace_back(value.positive());
  const std::size_t wanted = sizes.size() * sizes.size() * sizes.size();
  if (rates.size() != wanted) {
    file["flops_per_s"].complain(
        fmt::format("has {} rates: {}, one for every m, n and k of {} sizes", rates.size(), wanted, sizes.size()));
  }
  return {std::move(sizes), std::move(rates)};
}

Compute compute_of(const FileValue& file, DType dtype) {
  std::vector<std::string> keys{"peak_flops_per_s", "gemm", "panels", "kernels", "kernel_latency_s"};
  if (dtype == DType::f32 || dtype == DType::bf16) keys.emplace_back("library");  // the others have one library each
  file.allow_only(keys);
  Compute compute{.peak = FlopsPerSecond(file["peak_flops_per_s"].positive())};
  if (const std::optional<FileValue> gemm = file.find("gemm")) compute.gemm = gemm_of(*gemm);
  compute.panels = known(file, "panels");
  if (compute.panels > 1) file["panels"].complain(fmt::format("is {}: a share of the rate, at most 1", compute.panels));
  if (const std::optional<FileValue> library = file.find("library")) compute.library = library->one_of(kLibraries);
  if (const std::optional<FileValue> kernels = file.find("kernels")) {
    for (const auto& [name, rate] : kernels->members()) compute.kernels[name] = FlopsPerSecond(rate.positive());
  }
  if (const std::optional<FileValue> latencies = file.find("kernel_latency_s")) {
    for (const auto& [name, latency] : latencies->members()) compute.latencies[name] = Seconds(latency.at_least_zero());
  }
  return compute;
}

std::map<DType, Compute> compute_by_type(const FileValue& file) {
  std::vector<std::string> names;
  for (const DType dtype : kDTypes) names.emplace_back(name_of(dtype));
  file.allow_only(names);
  std::map<DType, Compute> compute;
  for (const DType dtype : kDTypes) {
    if (const std::optional<FileValue> figures = file.find(std::string(name_of(dtype)))) {
      compute[dtype] = compute_of(*figures, dtype);
    }
  }
  if (compute.empty()) file.refuse(fmt::format("at least one of {}", fmt::join(names, ", ")));
  return compute;
}

Curve curve_of(const FileValue& file) {
  std::vector<Curve::Point> points;
  for (const FileValue& point : file.items()) {
    point.allow_only({"bytes", "bytes_per_s"});
    const FileValue size = point["bytes"];
    points.push_back({size.positive(), point["bytes_per_s"].positive()});
    if (points.size() == 1) continue;
    const double before = points[points.size() - 2].size;
    if (points.back().size <= before) size.refuse(fmt::format("sizes rise, and it follows {}", before));
  }
  return Curve(std::move(points));
}

Memory memory_of(const FileValue& file) {
  file.allow_only({"capacity_bytes", "read_bytes_per_s", "copy_bytes_per_s", "triad_bytes_per_s",
                   "triad_allocating_bytes_per_s", "caches"});
  Memory memory{.capacity = Bytes(known(file, "capacity_bytes")),
                .read = BytesPerSecond(known(file, "read_bytes_per_s")),
                .copy = BytesPerSecond(known(file, "copy_bytes_per_s")),
                .triad = BytesPerSecond(file["triad_bytes_per_s"].positive()),
                .triad_allocating = BytesPerSecond(known(file, "triad_allocating_bytes_per_s"))};
  if (const std::optional<FileValue> caches = file.find("caches")) memory.caches = curve_of(*caches);
  return memory;
}

Contention contention_of(const FileValue& file) {
  file.allow_only({"gemm", "memory"});
  return {.gemm = file["gemm"].positive(), .memory = file["memory"].positive()};
}

SharedMemory shared_of(const FileValue& file) {
  file.allow_only({"latency_s", "copy", "add", "copy_again", "add_again"});
  SharedMemory shared{Seconds(file["latency_s"].at_least_zero()), curve_of(file["copy"]), curve_of(file["add"])};
  if (const std::optional<FileValue> again = file.find("copy_again")) shared.copy_again = curve_of(*again);
  if (const std::optional<FileValue> again = file.find("add_again")) shared.add_again = curve_of(*again);
  return shared;
}

Resource resource_of(const FileValue& file) {
  file.allow_only({"kind", "latency_s", "bandwidth_one_way", "bandwidth_two_way", "residual", "core_share", "shared"});
  Resource resource{.kind = file["kind"].one_of(kResourceKinds),
                    .latency = Seconds(file["latency_s"].at_least_zero()),
                    .one_way = BytesPerSecond(file["bandwidth_one_way"].positive()),
                    .both_ways = BytesPerSecond(file["bandwidth_two_way"].positive())};
  if (const std::optional<FileValue> residual = file.find("residual")) resource.residual = residual->at_least_zero();
  if (const std::optional<FileValue> share = file.find("core_share")) resource.core_share = share->share();
  if (const std::optional<FileValue> shared = file.find("shared")) {
    if (resource.kind != ResourceKind::shared_memory) shared->complain("is for resources of kind shared_memory only");
    resource.shared = shared_of(*shared);
  }
  return resource;
}

Tuning::Rule rule_of(const FileValue& file) {
  file.allow_only({"kind", "link", "most_ranks", "most_bytes", "algorithm"});
  const auto most = [&](const char* key) {
    const FileValue value = file[key];
    return value.is_null() ? Tuning::kAny : value.whole(1, kMostSize);
  };
  Tuning::Rule rule{.kind = file["kind"].one_of(kKinds),
                    .link = file["link"].one_of(kLinkKinds),
                    .most_ranks = most("most_ranks"),
                    .most_bytes = most("most_bytes")};
  const FileValue algorithm = file["algorithm"];
  rule.algorithm = rule.kind == Kind::shift ? algorithm.one_of(kShiftAlgorithms) : algorithm.one_of(kAlgorithms);
  return rule;
}

Tuning tuning_of(const FileValue& file) {
  file.allow_only(
      {"rules", "node_segment_bytes", "network_segment_bytes", "one_pass_bytes_of_two", "one_pass_bytes_of_more"});
  constexpr Index kMostSegment = Index{1} << 30;
  Tuning tuning{.rules = {},
                .node_segment_bytes = file["node_segment_bytes"].whole(1, kMostSegment),
                .network_segment_bytes = file["network_segment_bytes"].whole(1, kMostSegment),
                .one_pass_bytes_of_two = file["one_pass_bytes_of_two"].whole(0, kMostSize),
                .one_pass_bytes_of_more = file["one_pass_bytes_of_more"].whole(0, kMostSize)};
  if (const std::optional<FileValue> rules = file.find("rules")) {
    for (const FileValue& rule : rules->items()) tuning.rules.push_back(rule_of(rule));
  }
  return tuning;
}

void read_links(const FileValue& file, Machine& machine) {
  if (const std::optional<FileValue> resources = file.find("resources")) {
    for (const auto& [name, resource] : resources->members()) machine.resources[name] = resource_of(resource);
  }
  const std::optional<FileValue> axes = file.find("axes");
  if (!axes) return;
  std::vector<std::string> names;
  for (const auto& [name, resource] : machine.resources) names.push_back(name);
  for (const auto& [axis, resource] : axes->members()) {
    machine.axes[axis] = resource.text();
    if (machine.resources.contains(machine.axes[axis])) continue;
    resource.refuse(names.empty() ? "the file has no resources" : FileValue::one_of_text(names));
  }
}

}  // namespace

Machine parse_machine(const std::string& text, const std::string& file) {
  const FileValue root = FileValue::parse(text, file);
  if (const FileValue schema = root["schema"]; schema.text() != kMachineSchema) {
    schema.refuse(fmt::format("this version reads \"{}\"", kMachineSchema));
  }
  root.allow_only({"schema", "name", "measured", "compute", "memory", "overhead_s", "contention", "resources", "axes",
                   "pcie_bytes_per_s", "between_pods_bytes_per_s", "bf16_wire", "tuning"});
  Machine machine{.name = root["name"].text()};
  if (const std::optional<FileValue> measured = root.find("measured")) machine.measured = provenance_of(*measured);
  machine.compute = compute_by_type(root["compute"]);
  machine.memory = memory_of(root["memory"]);
  if (const std::optional<FileValue> overhead = root.find("overhead_s")) {
    machine.overhead = Seconds(overhead->at_least_zero());
  }
  if (const std::optional<FileValue> shares = root.find("contention")) machine.contention = contention_of(*shares);
  read_links(root, machine);
  machine.pcie = BytesPerSecond(known(root, "pcie_bytes_per_s"));
  machine.between_pods = BytesPerSecond(known(root, "between_pods_bytes_per_s"));
  if (const std::optional<FileValue> wire = root.find("bf16_wire")) machine.bf16_wire = wire->one_of(kWires);
  if (const std::optional<FileValue> tuning = root.find("tuning")) machine.tuning = tuning_of(*tuning);
  return machine;
}

std::string machine_text(const Machine& machine) {
  std::string text = lay_out(machine);
  SHARDLINE_CHECK(parse_machine(text, "machine " + machine.name) == machine, "machine {} is not what its file says",
                  machine.name);
  return text;
}

std::string machine_hash(const Machine& machine) { return fmt::format("{:016x}", hash_of(machine_text(machine))); }

}  // namespace shardline::roofline
