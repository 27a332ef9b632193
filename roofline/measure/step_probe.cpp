#include "roofline/measure/step_probe.h"

#include <algorithm>
#include <vector>

#include "roofline/price/hardware.h"
#include "runtime/base/check.h"
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

StepStarts probe_starts(const mpi::Communicator& comm, Seconds budget, const ProgramSample& sample,
                        const GemmRates& gemm) {
  constexpr std::size_t kLeast = 3;
  sample.run();
  comm.barrier();
  std::vector<StepTimes> runs;
  const Seconds begin = now();
  while (runs.size() < kLeast || now() - begin < budget) runs.push_back(sample.run());
  const StepTimes times = medians(comm, runs);
  SHARDLINE_CHECK(!times.kernels.empty(), "a sample of no kernel");
  Seconds least = times.kernels.begin()->second;
  for (const auto& [name, time] : times.kernels) least = std::min(least, time);
  StepStarts starts{.overhead = times.between + least, .latencies = {}};
  for (const auto& [name, time] : times.kernels) starts.latencies[name] = time - least;
  const auto product = starts.latencies.find(std::string(kMatrixProduct));
  if (product != starts.latencies.end()) {
    const auto size = static_cast<double>(sample.product);
    const Seconds known = Flops(2 * size * size * size) / gemm.at(sample.product, sample.product, sample.product);
    product->second = std::max(Seconds(0), product->second - known);
  }
  return starts;
}

}  // namespace shardline::roofline
