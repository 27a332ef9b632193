#include "roofline/machine/machine_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace shardline::roofline {
namespace {

using collectives::Tuning;
using OrderedJson = nlohmann::ordered_json;

/// Sets a figure unless it is 0: not known.
void set_known(OrderedJson& object, const char* key, double value) {
  if (value != 0) object[key] = value;
}

OrderedJson measured_json(const Provenance& measured) {
  OrderedJson json{{"host", measured.host},
                   {"date", measured.date},
                   {"mesh", measured.mesh},
                   {"nodes", measured.nodes},
                   {"cores", measured.cores},
                   {"ranks_per_node", measured.ranks_per_node},
                   {"threads_per_rank", measured.threads_per_rank},
                   {"blas", measured.blas},
                   {"mpi", measured.mpi},
                   {"commit", measured.commit}};
  if (measured.busy_with_others) json["busy_with_others"] = *measured.busy_with_others;
  if (!measured.unreliable.empty()) json["unreliable"] = measured.unreliable;
  return json;
}

OrderedJson compute_json(const Compute& compute) {
  OrderedJson json{{"peak_flops_per_s", compute.peak.value}};
  if (!compute.gemm.empty()) {
    std::vector<double> rates;
    for (const FlopsPerSecond rate : compute.gemm.rates()) rates.push_back(rate.value);
    json["gemm"] = {{"sizes", compute.gemm.sizes()}, {"flops_per_s", rates}};
  }
  if (compute.library) json["library"] = kernels::name_of(*compute.library);
  set_known(json, "panels", compute.panels);
  for (const auto& [name, rate] : compute.kernels) json["kernels"][name] = rate.value;
  for (const auto& [name, latency] : compute.latencies) json["kernel_latency_s"][name] = latency.value;
  return json;
}

OrderedJson curve_json(const Curve& curve) {
  OrderedJson json = OrderedJson::array();
  for (const Curve::Point& point : curve.points()) json.push_back({{"bytes", point.size}, {"bytes_per_s", point.rate}});
  return json;
}

OrderedJson memory_json(const Memory& memory) {
  OrderedJson json = OrderedJson::object();
  set_known(json, "capacity_bytes", memory.capacity.value);
  set_known(json, "read_bytes_per_s", memory.read.value);
  set_known(json, "copy_bytes_per_s", memory.copy.value);
  json["triad_bytes_per_s"] = memory.triad.value;
  set_known(json, "triad_allocating_bytes_per_s", memory.triad_allocating.value);
  if (!memory.caches.empty()) json["caches"] = curve_json(memory.caches);
  return json;
}

OrderedJson resource_json(const Resource& resource) {
  OrderedJson json{{"kind", name_of(resource.kind)},
                   {"latency_s", resource.latency.value},
                   {"bandwidth_one_way", resource.one_way.value},
                   {"bandwidth_two_way", resource.both_ways.value},
                   {"residual", resource.residual},
                   {"core_share", resource.core_share}};
  if (resource.shared) {
    json["shared"] = {{"latency_s", resource.shared->latency.value},
                      {"copy", curve_json(resource.shared->copy)},
                      {"add", curve_json(resource.shared->add)}};
    if (!resource.shared->copy_again.empty()) json["shared"]["copy_again"] = curve_json(resource.shared->copy_again);
    if (!resource.shared->add_again.empty()) json["shared"]["add_again"] = curve_json(resource.shared->add_again);
  }
  return json;
}

OrderedJson tuning_json(const Tuning& tuning) {
  const auto most = [](Index value) { return value == Tuning::kAny ? OrderedJson(nullptr) : OrderedJson(value); };
  OrderedJson json = OrderedJson::object();
  for (const Tuning::Rule& rule : tuning.rules) {
    json["rules"].push_back({{"kind", name_of(rule.kind)},
                             {"link", name_of(rule.link)},
                             {"most_ranks", most(rule.most_ranks)},
                             {"most_bytes", most(rule.most_bytes)},
                             {"algorithm", name_of(rule.algorithm)}});
  }
  json["node_segment_bytes"] = tuning.node_segment_bytes;
  json["network_segment_bytes"] = tuning.network_segment_bytes;
  json["one_pass_bytes_of_two"] = tuning.one_pass_bytes_of_two;
  json["one_pass_bytes_of_more"] = tuning.one_pass_bytes_of_more;
  return json;
}

OrderedJson machine_json(const Machine& machine) {
  OrderedJson json{{"schema", kMachineSchema}, {"name", machine.name}};
  if (machine.measured != Provenance{}) json["measured"] = measured_json(machine.measured);
  for (const auto& [dtype, compute] : machine.compute)
    json["compute"][std::string(name_of(dtype))] = compute_json(compute);
  json["memory"] = memory_json(machine.memory);
  json["overhead_s"] = machine.overhead.value;
  if (machine.contention != Contention{}) {
    json["contention"] = {{"gemm", machine.contention.gemm}, {"memory", machine.contention.memory}};
  }
  for (const auto& [name, resource] : machine.resources) json["resources"][name] = resource_json(resource);
  for (const auto& [axis, resource] : machine.axes) json["axes"][axis] = resource;
  set_known(json, "pcie_bytes_per_s", machine.pcie.value);
  set_known(json, "between_pods_bytes_per_s", machine.between_pods.value);
  json["bf16_wire"] = collectives::name_of(machine.bf16_wire);
  if (machine.tuning) json["tuning"] = tuning_json(*machine.tuning);
  return json;
}

/// A number with the fewest digits that give the same double. Infinity and NaN become null.
std::string scalar_text(const OrderedJson& value) {
  if (value.is_number_float() && std::isfinite(value.get<double>())) return fmt::format("{}", value.get<double>());
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

/// A value on one line.
std::string line_of(const OrderedJson& value) {
  if (!value.is_structured()) return scalar_text(value);
  std::string text;
  for (const auto& [key, each] : value.items()) {
    if (!text.empty()) text += ", ";
    text += value.is_object() ? OrderedJson(key).dump() + ": " + line_of(each) : line_of(each);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// The text of a value. An object has one line for each key. An array of objects has one line for each object.
/// Other arrays fill each line.
std::string text_of(const OrderedJson& value, std::size_t indent) {
  if (!value.is_structured() || value.empty()) return line_of(value);
  constexpr std::size_t kWidth = 110;
  const std::string margin(indent + 2, ' ');
  std::string text;
  std::size_t column = kWidth;
  for (const auto& [key, each] : value.items()) {
    const std::string item =
        value.is_object() ? OrderedJson(key).dump() + ": " + text_of(each, indent + 2) : line_of(each);
    if (!text.empty()) text += ",";
    if (each.is_structured() || value.is_object() || column + 2 + item.size() > kWidth) {
      text += "\n" + margin;
      column = margin.size();
    } else {
      text += " ";
      ++column;
    }
    text += item;
    column += item.size() + 1;
  }
  text += "\n" + std::string(indent, ' ');
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

std::string lay_out(const Machine& machine) { return text_of(machine_json(machine), 0) + "\n"; }

}  // namespace shardline::roofline
