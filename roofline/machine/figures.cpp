#include "roofline/machine/figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

using Visit = std::function<void(const std::string&, double&)>;

/// A part of a JSON pointer (RFC 6901).
std::string escaped(const std::string& key) {
  std::string text;
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

void visit_curve(Curve& curve, const std::string& path, const Visit& visit) {
  std::vector<Curve::Point> points = curve.points();
  for (std::size_t i = 0; i < points.size(); ++i) visit(fmt::format("{}/{}/bytes_per_s", path, i), points[i].rate);
  curve = Curve(std::move(points));
}

void visit_compute(Compute& compute, const std::string& path, const Visit& visit) {
  visit(path + "/peak_flops_per_s", compute.peak.value);
  std::vector<FlopsPerSecond> rates = compute.gemm.rates();
  for (std::size_t i = 0; i < rates.size(); ++i) visit(fmt::format("{}/gemm/flops_per_s/{}", path, i), rates[i].value);
  compute.gemm = GemmRates(compute.gemm.sizes(), std::move(rates));
  if (compute.panels > 0) visit(path + "/panels", compute.panels);
  for (auto& [kernel, rate] : compute.kernels) visit(path + "/kernels/" + escaped(kernel), rate.value);
  for (auto& [kernel, latency] : compute.latencies) visit(path + "/kernel_latency_s/" + escaped(kernel), latency.value);
}

void visit_memory(Memory& memory, const Visit& visit) {
  visit("/memory/read_bytes_per_s", memory.read.value);
  visit("/memory/copy_bytes_per_s", memory.copy.value);
  visit("/memory/triad_bytes_per_s", memory.triad.value);
  visit("/memory/triad_allocating_bytes_per_s", memory.triad_allocating.value);
  visit_curve(memory.caches, "/memory/caches", visit);
}

void visit_resource(Resource& resource, const std::string& path, const Visit& visit) {
  visit(path + "/latency_s", resource.latency.value);
  visit(path + "/bandwidth_one_way", resource.one_way.value);
  visit(path + "/bandwidth_two_way", resource.both_ways.value);
  visit(path + "/core_share", resource.core_share);
  if (!resource.shared) return;
  visit(path + "/shared/latency_s", resource.shared->latency.value);
  visit_curve(resource.shared->copy, path + "/shared/copy", visit);
  visit_curve(resource.shared->add, path + "/shared/add", visit);
  visit_curve(resource.shared->copy_again, path + "/shared/copy_again", visit);
  visit_curve(resource.shared->add_again, path + "/shared/add_again", visit);
}

struct Spread {
  double median = 0;
  double middle_half = 0;  ///< from the lower to the upper quartile
};

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t count = values.size();
  return {values[count / 2], values[count - 1 - count / 4] - values[count / 4]};
}

}  // namespace

void for_each_figure(Machine& machine, const Visit& visit) {
  for (auto& [dtype, compute] : machine.compute) {
    visit_compute(compute, fmt::format("/compute/{}", name_of(dtype)), visit);
  }
  visit_memory(machine.memory, visit);
  visit("/overhead_s", machine.overhead.value);
  visit("/contention/gemm", machine.contention.gemm);
  visit("/contention/memory", machine.contention.memory);
  for (auto& [name, resource] : machine.resources) visit_resource(resource, "/resources/" + escaped(name), visit);
}

Machine combine(const std::vector<Machine>& rounds) {
  SHARDLINE_CHECK(!rounds.empty(), "no measurement of a machine");
  std::vector<std::vector<double>> figures;
  for (Machine round : rounds) {
    std::size_t at = 0;
    for_each_figure(round, [&](const std::string&, double& figure) {
      if (at == figures.size()) figures.emplace_back();
      figures[at++].push_back(figure);
    });
  }
  Machine machine = rounds.front();
  machine.measured.unreliable.clear();
  std::size_t at = 0;
  for_each_figure(machine, [&](const std::string& path, double& figure) {
    const std::vector<double>& repeated = figures[at++];
    SHARDLINE_CHECK(repeated.size() == rounds.size(), "{} was measured {} times of {}", path, repeated.size(),
                    rounds.size());
    const Spread spread = spread_of(repeated);
    figure = spread.median;
    const bool agrees = spread.middle_half <= kReliableSpread * spread.median;
    if (rounds.size() == 1 || !agrees) machine.measured.unreliable.push_back(path);
  });
  return machine;
}

}  // namespace shardline::roofline
