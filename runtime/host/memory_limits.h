#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/units.h"

namespace shardline {

/// No rank has more bytes than this. Sizes and offsets of arrays up to here can be counted in 64 bits.
inline constexpr Bytes kBeyondAnyMachine{1e15};

/// A bound on the memory of this process, or of a group of processes that it belongs to.
struct MemoryBound {
  std::string name;      ///< "free memory", "cgroup /job_7 (memory.max)", "ulimit -v"
  std::uint64_t id = 0;  ///< equal in all processes of a machine with this bound
  bool own = false;      ///< it bounds this process alone
  Bytes limit;           ///< the most that may be in use; constant until it is set again
  Bytes left;            ///< not in use now, or page cache that the system can give back; never negative
};

/// Every bound on the memory of this process: the memory of the machine; each control group (cgroup
/// v1 or v2), from the process's own to the highest visible one; the resource limits on address
/// space and data. Swap does not count. Limits that the system does not tell are left out. Files
/// are read below the folder `root`, which stands for "/"; empty for the machine itself.
std::vector<MemoryBound> memory_bounds(const std::string& root = "");

}  // namespace shardline
