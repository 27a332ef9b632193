#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/host/memory_limits.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// Memory that a rank will take.
struct MemoryNeed {
  Bytes own;     ///< for itself alone
  Bytes shared;  ///< its part of the memory that ranks of its node share

  bool operator==(const MemoryNeed&) const = default;
};

/// For two needs, one after another: memory of the first is free for the second.
MemoryNeed larger(const MemoryNeed& a, const MemoryNeed& b);
/// For two needs at the same time.
MemoryNeed operator+(const MemoryNeed& a, const MemoryNeed& b);

/// A memory bound that is too small for the ranks.
struct MemoryShortage {
  std::string bound;      ///< "free memory", "cgroup /job_7 (memory.max)", "ulimit -v"
  bool per_rank = false;  ///< each rank has this bound alone
  int ranks = 1;          ///< ranks that share it; if each rank has it alone, the ranks of the node
  Bytes needed;           ///< by these ranks together, or by one rank
  Bytes left;             ///< what they may still take

  /// True if ranks that each take `need` would fit.
  bool fits(const MemoryNeed& need) const;
};

/// Collective over `world`: compares the needs of the ranks of each node with what each of
/// `bounds`, as this rank sees them, leaves now. Ranks that share a bound add their needs. Returns
/// on every rank the bound with the largest shortage, or nothing if all fits.
std::optional<MemoryShortage> memory_shortage(const mpi::Communicator& world, const MemoryNeed& need,
                                              const std::vector<MemoryBound>& bounds);

/// Collective over `world`: the most memory of every rank by the installed memory and the limits.
/// Ranks that share a bound get equal parts. It is the smallest value of all ranks. Free memory
/// does not matter.
Bytes memory_limit_of_a_rank(const mpi::Communicator& world, const std::vector<MemoryBound>& bounds);

}  // namespace shardline::tools
