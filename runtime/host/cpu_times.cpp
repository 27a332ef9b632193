#include "runtime/host/cpu_times.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace shardline {
namespace {

/// The columns after a CPU's name. Guest time follows them; it is already part of `user` and
/// `nice`.
enum Column { kUser, kNice, kSystem, kIdle, kDisk, kInterrupts, kSoftInterrupts, kStolen, kColumns };
constexpr int kLeastColumns = kIdle + 1;  // in the oldest kernels

std::optional<CpuTimes> times_of(std::istringstream& columns, Seconds tick) {
  std::array<double, kColumns> counts{};
  int known = 0;
  while (known < kColumns && columns >> counts.at(static_cast<std::size_t>(known))) ++known;
  if (known < kLeastColumns) return std::nullopt;
  CpuTimes times{(counts[kIdle] + counts[kDisk]) * tick, counts[kStolen] * tick, {}};
  for (const double count : counts) times.counted += count * tick;
  return times;
}

Seconds forward(Seconds begin, Seconds end) { return std::max(end - begin, Seconds(0)); }

}  // namespace

std::optional<CpuTimes> cpu_times(const std::string& text, const std::vector<int>& cpus, Seconds tick) {
  std::map<std::string, CpuTimes> of_cpu;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line.rfind("cpu", 0) == 0;) {
    std::istringstream columns(line);
    std::string name;
    columns >> name;
    if (const std::optional<CpuTimes> times = times_of(columns, tick)) of_cpu[name] = *times;
  }
  CpuTimes sum;
  for (const int cpu : cpus) {
    const auto found = of_cpu.find("cpu" + std::to_string(cpu));
    if (found == of_cpu.end()) return std::nullopt;
    sum.idle += found->second.idle;
    sum.stolen += found->second.stolen;
    sum.counted += found->second.counted;
  }
  return sum;
}

CpuTimes between(const CpuTimes& begin, const CpuTimes& end) {
  return {forward(begin.idle, end.idle), forward(begin.stolen, end.stolen), forward(begin.counted, end.counted)};
}

std::optional<double> share_of_others(const CpuUse& use) {
  constexpr Seconds kShortest{0.2};
  constexpr double kLeastCounted = 0.5;  // share of the time, if the counters work
  const Seconds all = use.elapsed * static_cast<double>(use.cpus);
  if (use.cpus == 0 || use.elapsed < kShortest || use.times.counted < kLeastCounted * all) return std::nullopt;
  // Linux counts idle time exactly. It samples busy time.
  const Seconds others = std::max(all - use.times.idle - use.own, use.times.stolen);
  return std::clamp(others / all, 0.0, 1.0);
}

}  // namespace shardline
