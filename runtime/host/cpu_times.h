#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {

/// What a set of CPUs did, by the Linux counters in /proc/stat, summed over the set.
struct CpuTimes {
  Seconds idle;     ///< idle, or waiting for a disk
  Seconds stolen;   ///< given to other virtual machines ("steal")
  Seconds counted;  ///< all time, idle and stolen time included
};

/// The counters of `cpus` since the machine started. `text` is the content of /proc/stat; its
/// numbers have the unit `tick`. Nothing if the text lacks one of the CPUs or a line cannot be
/// read.
std::optional<CpuTimes> cpu_times(const std::string& text, const std::vector<int>& cpus, Seconds tick);

/// The difference of two readings. Linux counters may go back; then the difference is 0.
CpuTimes between(const CpuTimes& begin, const CpuTimes& end);

/// A period of time on the CPUs that the processes of a job may use.
struct CpuUse {
  Index cpus = 0;
  Seconds elapsed = {};  ///< by the clock
  Seconds own = {};      ///< CPU time of the job's processes
  CpuTimes times = {};
};

/// The share of the CPUs' time that went to other work, from 0 to 1: neither idle nor the job's own
/// time. It is never below the stolen share, because some kernels count stolen time as time of the
/// process that lost it. Nothing if the time is too short for counters of 10 ms. Nothing if the
/// counters do not move, as in some sandboxes.
std::optional<double> share_of_others(const CpuUse& use);

}  // namespace shardline
