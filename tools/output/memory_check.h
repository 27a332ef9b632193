#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/host/memory_limits.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// Memory that a rank is about to take.
struct MemoryNeed {
  Bytes own;     ///< for itself
  Bytes shared;  ///< its part of the memory that the ranks of its node share

  bool operator==(const MemoryNeed&) const = default;
};

/// One after the other: memory that the first gives back serves the second.
MemoryNeed larger(const MemoryNeed& a, const MemoryNeed& b);
/// Both at once.
MemoryNeed operator+(const MemoryNeed& a, const MemoryNeed& b);

/// A bound on memory under which ranks would not have what they need.
struct MemoryShortage {
  std::string bound;      ///< "free memory", "cgroup /job_7 (memory.max)", "ulimit -v"
  bool per_rank = false;  ///< it bounds each rank alone
  int ranks = 1;          ///< that share it; where it bounds each rank alone, the ranks of the node
  Bytes needed;           ///< by these ranks together, or by the rank
  Bytes left;             ///< that they may still have

  /// True when ranks that each take `need` would fit.
  bool fits(const MemoryNeed& need) const;
};

/// Collective over `world`: compares what the ranks of each node are about to take with what each of `bounds`, as this
/// rank sees them, leaves now. Ranks that share a bound need what they need together. Of the bounds of all ranks the
/// one under which most is missing, on every rank; nothing where all fits.
std::optional<MemoryShortage> memory_shortage(const mpi::Communicator& world, const MemoryNeed& need,
                                              const std::vector<MemoryBound>& bounds);

/// Collective over `world`: what every rank may take by what is installed and by limits, of which ranks that share one
/// have equal parts; the least of all ranks. What is free at the moment does not matter.
Bytes memory_limit_of_a_rank(const mpi::Communicator& world, const std::vector<MemoryBound>& bounds);

}  // namespace shardline::tools
