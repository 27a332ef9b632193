#include "tools/bench/bench_timing.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "runtime/trace/clock.h"

namespace shardline::tools {
namespace {

constexpr Index kFewestSamples = 5;
constexpr Index kMostSamples = 10000;
constexpr Index kMostInARow = 1000000;

/// Collective over all ranks: element i is the largest value of the ranks at i.
std::vector<Seconds> slowest(const mpi::Communicator& world, const std::vector<double>& times) {
  const std::size_t bytes = times.size() * sizeof(double);
  std::vector<Seconds> slowest(times.size());
  for (const std::string& text :
       world.all_gather_bytes(std::string(reinterpret_cast<const char*>(times.data()), bytes))) {
    std::vector<double> others(times.size());
    std::memcpy(others.data(), text.data(), bytes);
    for (std::size_t i = 0; i < times.size(); ++i) slowest[i] = std::max(slowest[i], Seconds(others[i]));
  }
  return slowest;
}

/// Collective over all ranks: gives rank 0's number to every rank.
Index agreed(const mpi::Communicator& world, Index number) {
  return std::stoll(world.broadcast(std::to_string(number), 0));
}

/// This rank's time per run, for `runs` runs that start together and follow one another.
Seconds time_in_a_row(const mpi::Communicator& world, Index runs, const std::function<void()>& run) {
  world.barrier();
  const Seconds begin = now();
  for (Index i = 0; i < runs; ++i) run();
  return (now() - begin) * (1 / static_cast<double>(runs));
}

/// How many times `part` fits into `whole`, within bounds.
Index times_in(Seconds whole, Seconds part, Index least, Index most) {
  const double times = part.value > 0 ? whole / part : static_cast<double>(most);
  return std::clamp(static_cast<Index>(std::min(times, static_cast<double>(most))), least, most);
}

}  // namespace

Index runs_in_a_row(Seconds each, Seconds budget) {
  constexpr Seconds kLongEnough{1e-3};
  const Seconds sample = std::min(kLongEnough, budget * (1.0 / kFewestSamples));
  return times_in(sample, each, 1, kMostInARow);
}

std::vector<Index> dealt_out(Index runs, Index in_a_row) {
  const Index samples = std::max<Index>(1, runs / in_a_row);
  std::vector<Index> dealt(static_cast<std::size_t>(samples), runs / samples);
  for (Index i = 0; i < runs % samples; ++i) ++dealt[static_cast<std::size_t>(i)];
  return dealt;
}

SampledTimes sample_times(const mpi::Communicator& world, const TimingPlan& plan, const std::function<void()>& run) {
  const double warmup_share = 0.1;
  const Seconds first = time_in_a_row(world, 1, run);
  const Index warmups = agreed(world, times_in(plan.budget * warmup_share, first, 1, kMostInARow));
  const Seconds each = time_in_a_row(world, warmups, run);
  const Index in_a_row = agreed(world, runs_in_a_row(each, plan.budget));
  const Seconds sample = each * static_cast<double>(in_a_row);
  const Index samples = agreed(world, times_in(plan.budget, sample, kFewestSamples, kMostSamples));
  SampledTimes timed{.runs = plan.runs.value_or(samples * in_a_row), .samples = {}};
  std::vector<double> times;
  for (const Index runs : dealt_out(timed.runs, in_a_row)) times.push_back(time_in_a_row(world, runs, run).value);
  timed.samples = slowest(world, times);
  return timed;
}

}  // namespace shardline::tools
