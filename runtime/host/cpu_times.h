#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"

namespace shardline {

/// What CPUs of this machine did, by the counters of Linux in /proc/stat; all of the CPUs together.
struct CpuTimes {
  Seconds idle;     ///< nothing, or waiting for a disk
  Seconds stolen;   ///< given to other virtual machines ("steal")
  Seconds counted;  ///< everything, idle and stolen time included
};

/// The counters of `cpus` since the machine started. `text` is what /proc/stat holds, `tick` the unit of its numbers.
/// Nothing when the text lacks one of the CPUs or a line cannot be read.
std::optional<CpuTimes> cpu_times(const std::string& text, const std::vector<int>& cpus, Seconds tick);

/// From one reading to a later one. A counter that went back, as those of Linux may, counts as one that stood still.
CpuTimes between(const CpuTimes& begin, const CpuTimes& end);

/// Some time on the CPUs that the processes of a job may use.
struct CpuUse {
  Index cpus = 0;
  Seconds elapsed = {};  ///< by the clock
  Seconds own = {};      ///< CPU time of the job's processes
  CpuTimes times = {};
};

/// The share of the CPUs' time that went to other work, from 0 to 1: time that was neither idle nor the job's own. It
/// is at least the stolen share, since some kernels count stolen time as time of the process that lost it. Nothing when
/// the time is too short for counters of 10 ms, or when the counters do not move, as in some sandboxes.
std::optional<double> share_of_others(const CpuUse& use);

}  // namespace shardline
