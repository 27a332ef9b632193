#include "roofline/measure/kernel_probe.h"

#include <algorithm>

#include "roofline/measure/repeat.h"

namespace shardline::roofline {

std::map<std::string, FlopsPerSecond> probe_kernels(const mpi::Communicator& comm, Seconds budget,
                                                    const std::vector<KernelSample>& samples) {
  std::map<std::string, FlopsPerSecond> rates;
  for (const KernelSample& sample : samples) {
    if (sample.cost.flops.value == 0) continue;
    rates[sample.name] = sample.cost.flops / time_busy(comm, {.budget = budget, .least = 3}, sample.run);
  }
  return rates;
}

std::map<std::string, Seconds> probe_latencies(const mpi::Communicator& comm, Seconds budget,
                                               const std::vector<KernelSample>& samples) {
  constexpr int kCalls = 64;  // one call is too short for the clock
  std::vector<Seconds> times;
  for (const KernelSample& sample : samples) {
    const auto body = [&] {
      for (int i = 0; i < kCalls; ++i) sample.run();
    };
    times.push_back(time_busy(comm, {.budget = budget, .least = 3}, body) / kCalls);
  }
  std::map<std::string, Seconds> latencies;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Seconds beyond = times[i] - *std::min_element(times.begin(), times.end());
    latencies[samples[i].name] = beyond / samples[i].cost.parts;
  }
  return latencies;
}

}  // namespace shardline::roofline
