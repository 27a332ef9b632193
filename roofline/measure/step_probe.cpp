#include "roofline/measure/step_probe.h"

#include <algorithm>
#include <vector>

#include "roofline/price/hardware.h"
#include "runtime/base/statistics.h"
#include "runtime/trace/clock.h"

namespace shardline::roofline {
namespace {

/// The medians of several runs, those of the slowest rank.
StepTimes medians(const mpi::Communicator& comm, const std::vector<StepTimes>& runs) {
  const auto slowest = [&](std::vector<Seconds> times) { return Seconds(comm.max(median(std::move(times)).value)); };
  StepTimes result;
  for (const auto& [name, time] : runs.front().kernels) {
    std::vector<Seconds> times;
    for (const StepTimes& run : runs) times.push_back(run.kernels.at(name));
    result.kernels[name] = slowest(std::move(times));
  }
  std::vector<Seconds> between;
  for (const StepTimes& run : runs) between.push_back(run.between);
  result.between = slowest(std::move(between));
  return result;
}

}  // namespace

std::map<std::string, Seconds> probe_latencies(const mpi::Communicator& comm, Seconds budget,
                                               const ProgramSample& sample, Seconds overhead, const GemmRates& gemm) {
  constexpr std::size_t kLeast = 3;
  sample.run();
  comm.barrier();
  std::vector<StepTimes> runs;
  const Seconds begin = now();
  while (runs.size() < kLeast || now() - begin < budget) runs.push_back(sample.run());
  const StepTimes times = medians(comm, runs);
  std::map<std::string, Seconds> latencies;
  for (const auto& [name, time] : times.kernels) {
    Seconds known = overhead;
    if (name == kMatrixProduct) {
      const auto size = static_cast<double>(sample.product);
      known += Flops(2 * size * size * size) / gemm.at(sample.product, sample.product, sample.product);
    }
    latencies[name] = std::max(Seconds(0), time + times.between - known);
  }
  return latencies;
}

}  // namespace shardline::roofline
