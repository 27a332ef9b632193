#include "roofline/machine/machine.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

const Compute& compute_in(const Machine& machine, DType dtype) {
  auto found = machine.compute.find(dtype);
  if (found == machine.compute.end() && dtype == DType::bf16) found = machine.compute.find(DType::f32);
  if (found != machine.compute.end()) return found->second;
  std::vector<std::string_view> known;
  for (const auto& [type, compute] : machine.compute) known.push_back(name_of(type));
  usage_error("machine {} has no figures for {}; it has {}", machine.name, name_of(dtype), fmt::join(known, ", "));
}

const Resource& resource_of(const Machine& machine, const Axis& axis) {
  const auto name = machine.axes.find(axis);
  if (name == machine.axes.end()) {
    std::vector<std::string> known;
    for (const auto& [each, resource] : machine.axes) known.push_back(each);
    usage_error("machine {} has no link for axis {}; it has links for {}", machine.name, axis,
                known.empty() ? "no axis" : fmt::format("{}", fmt::join(known, ", ")));
  }
  const auto found = machine.resources.find(name->second);
  require(found != machine.resources.end(), "machine {}: axis {} uses the resource \"{}\", which is not there",
          machine.name, axis, name->second);
  return found->second;
}

Link link_of(const Machine& machine, const Axis& axis, Index ranks) {
  const Resource& resource = resource_of(machine, axis);
  const bool by_neighbours = resource.kind == ResourceKind::ring || resource.kind == ResourceKind::line;
  return {.latency = resource.latency,
          .bandwidth = resource.one_way,
          .both_ways = resource.both_ways,
          .two_way = resource.kind == ResourceKind::ring && ranks > 2,
          .frees_cores = resource.kind != ResourceKind::shared_memory,
          .core_share = resource.core_share,
          .switched = !by_neighbours,
          .resource = machine.axes.at(axis),
          .shared = resource.shared};
}

}  // namespace

std::string_view name_of(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::ring:
      return "ring";
    case ResourceKind::line:
      return "line";
    case ResourceKind::switched:
      return "switch";
    case ResourceKind::shared_memory:
      return "shared_memory";
  }
  throw Error("unknown kind of resource");
}

Hardware hardware_of(const Machine& machine, const AbstractMesh& mesh, DType dtype) {
  const Compute& compute = compute_in(machine, dtype);
  // Older files have the kernels of bf16 only as those of f32: they compute in f32.
  const bool own = !compute.kernels.empty() || dtype != DType::bf16 || !machine.compute.contains(DType::f32);
  const Compute& kernels = own ? compute : machine.compute.at(DType::f32);
  Hardware hardware{.name = machine.name,
                    .matmul = compute.peak,
                    .memory = machine.memory.triad,
                    .overhead = machine.overhead,
                    .links = {},
                    .gemm = compute.gemm,
                    .kernels = kernels.kernels,
                    .latencies = kernels.latencies,
                    .caches = machine.memory.caches,
                    .tuning = machine.tuning.value_or(collectives::Tuning::built_in()),
                    .bf16_wire = machine.bf16_wire};
  if (compute.panels > 0) hardware.panels = compute.panels;
  for (const Axis& axis : mesh.axes_that_move()) hardware.links[axis] = link_of(machine, axis, mesh.size(axis));
  return hardware;
}

}  // namespace shardline::roofline
