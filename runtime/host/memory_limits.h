#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/units.h"

namespace shardline {

/// Something that bounds the memory of this process, or of a group of processes that it belongs to.
struct MemoryBound {
  std::string name;      ///< "free memory", "cgroup /job_7 (memory.max)", "ulimit -v"
  std::uint64_t id = 0;  ///< equal in all processes of a machine that share this bound
  bool own = false;      ///< it bounds this process alone
  Bytes limit;           ///< the most that may be in use; constant until somebody sets another limit
  Bytes left;  ///< the part that is not in use now, and page cache that the system can give back; never negative
};

/// Every bound on the memory of this process: the machine's memory; each control group of cgroup v1 or v2 from the
/// process's own to the highest that it can see; the resource limits on address space and data. Swap does not count.
/// A limit that the system does not tell is left out. Files are read below the folder `root`, which stands for "/";
/// empty for the machine itself.
std::vector<MemoryBound> memory_bounds(const std::string& root = "");

}  // namespace shardline
