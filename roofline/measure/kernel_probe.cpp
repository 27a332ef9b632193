#include "roofline/measure/kernel_probe.h"

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

}  // namespace shardline::roofline
