#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "roofline/machine/machine.h"

namespace shardline::roofline {

/// Machines in which every part may be missing, with numbers of all magnitudes and all digits.
class RandomMachines {
 public:
  explicit RandomMachines(unsigned seed) : random_(seed) {}

  Machine next() {
    Machine machine{.name = name()};
    if (coin()) machine.measured = provenance();
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      if (coin() || dtype == DType::f64) machine.compute[dtype] = compute(dtype);
    }
    machine.memory = {Bytes(maybe()), rate_or_none(), rate_or_none(), rate(), rate_or_none()};
    if (coin()) machine.memory.caches = curve();
    machine.overhead = Seconds(maybe());
    if (coin()) machine.contention = {positive(), positive()};
    for (const char* name : {"node", "network", "torus axis \"X\""}) {
      if (coin()) machine.resources[name] = resource();
    }
    for (const auto& [name, each] : machine.resources) machine.axes["A" + std::to_string(random_() % 5)] = name;
    machine.pcie = rate_or_none();
    machine.between_pods = rate_or_none();
    machine.bf16_wire = coin() ? collectives::Wire::hop : collectives::Wire::f32;
    if (coin()) machine.tuning = tuning();
    return machine;
  }

 private:
  bool coin() { return random_() % 2 == 0; }
  /// A number with a random fraction. About half of the numbers are whole.
  double positive() {
    if (coin()) return static_cast<double>(random_() % 10000000000000000ULL + 1);
    return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(random_), static_cast<int>(random_() % 400) - 200);
  }
  double maybe() { return coin() ? positive() : 0; }
  BytesPerSecond rate() { return BytesPerSecond(positive()); }
  BytesPerSecond rate_or_none() { return BytesPerSecond(maybe()); }
  Index whole(Index most) { return static_cast<Index>(random_() % static_cast<std::uint64_t>(most)) + 1; }
  int count() { return static_cast<int>(whole(1000)); }
  std::string name() { return "a \"name\" \\ with\nµ" + std::to_string(random_()); }

  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  Provenance provenance() {
    Provenance measured{name(),  name(), "X=2,data=4", count(), count(), count(),
                        count(), name(), name(),       name(),  {},      {}};
    if (coin()) measured.busy_with_others = unit();
    if (coin()) measured.unreliable = {"/memory/triad_bytes_per_s", name()};
    return measured;
  }
  Curve curve() {
    std::vector<Curve::Point> points;
    double size = positive();
    for (std::size_t i = 0; i < 1 + random_() % 4; ++i) points.push_back({size *= 1.7, positive()});
    return Curve(std::move(points));
  }
  Compute compute(DType dtype) {
    Compute compute{FlopsPerSecond(positive())};
    if (coin()) {
      std::vector<Index> sizes;
      for (Index size = whole(100); sizes.size() < 1 + random_() % 3; size += whole(Index{1} << 50)) {
        sizes.push_back(size);
      }
      std::vector<FlopsPerSecond> rates;
      for (std::size_t i = 0; i < sizes.size() * sizes.size() * sizes.size(); ++i) rates.emplace_back(positive());
      compute.gemm = GemmRates(std::move(sizes), std::move(rates));
    }
    if (coin() && (dtype == DType::f32 || dtype == DType::bf16)) {
      compute.library = coin() ? kernels::GemmLibrary::openblas : kernels::GemmLibrary::onednn;
    }
    if (coin()) compute.panels = 1 - unit();
    if (coin()) compute.kernels = {{"attention", FlopsPerSecond(positive())}, {name(), FlopsPerSecond(positive())}};
    if (coin()) compute.latencies = {{"attention", Seconds(maybe())}, {name(), Seconds(positive())}};
    return compute;
  }
  Resource resource() {
    Resource resource{static_cast<ResourceKind>(random_() % 4), Seconds(maybe()), rate(), rate(), maybe(), unit()};
    if (resource.kind == ResourceKind::shared_memory && coin()) {
      resource.shared = {Seconds(maybe()), curve(), curve()};
      if (coin()) resource.shared->copy_again = curve(), resource.shared->add_again = curve();
    }
    return resource;
  }
  collectives::Tuning tuning() {
    using collectives::Tuning;
    Tuning tuning = coin() ? Tuning::built_in() : Tuning{};
    for (std::size_t i = 0; i < random_() % 3; ++i) {
      tuning.rules.push_back({static_cast<collectives::Kind>(random_() % 4),
                              coin() ? collectives::LinkKind::node : collectives::LinkKind::network,
                              coin() ? Tuning::kAny : whole(100), coin() ? Tuning::kAny : whole(Index{1} << 61),
                              collectives::kAlgorithms.at(1 + random_() % 5)});
    }
    tuning.node_segment_bytes = whole(Index{1} << 30);
    tuning.network_segment_bytes = whole(Index{1} << 30);
    tuning.one_pass_bytes_of_two = whole(Index{1} << 61) - 1;
    tuning.one_pass_bytes_of_more = coin() ? 0 : whole(1000);
    return tuning;
  }

  std::mt19937_64 random_;
};

}  // namespace shardline::roofline
