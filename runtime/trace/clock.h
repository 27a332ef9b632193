#pragma once

#include <functional>
#include <vector>

#include "runtime/base/units.h"

namespace shardline {

class Mesh;
namespace mpi {
class Communicator;
}

/// Time of this process's steady clock. Only differences mean anything; between ranks a ClockAlignment tells them.
Seconds now();

/// From one moment to another, by this process's now().
struct TimeRange {
  Seconds begin{};
  Seconds end{};
};
inline Seconds length(const TimeRange& range) { return range.end - range.begin; }

/// Something that tells the time: now(), or what a test puts in its place.
using Clock = std::function<Seconds()>;

/// How far a rank's clock was found to be behind rank 0's at one moment.
struct ClockReading {
  Seconds at;           ///< of the rank's own clock
  Seconds behind;       ///< to be added to it for rank 0's time
  Seconds uncertainty;  ///< by which `behind` may be wrong at most: half of the round trip that told
};

/// Collective over `comm`: compares every rank's clock with rank 0's once, by ping-pong. The fastest of several round
/// trips counts, and the other clock is assumed to have been read in the middle of it. `clock_of` gives for every rank
/// the lowest rank that shares its clock. Only that one is asked. A rank that shares rank 0's clock is exactly 0
/// behind, with no uncertainty. The result is the same on all ranks.
ClockReading compare_clocks(const mpi::Communicator& comm, const std::vector<int>& clock_of, const Clock& clock = now);

/// Collective over the mesh: the same for now(), which all ranks of a node read from one clock (CLOCK_MONOTONIC of its
/// kernel).
ClockReading compare_clocks(const Mesh& mesh);

/// Converts one rank's time to rank 0's, by readings in the order of time. Between two readings the clocks are assumed
/// to drift apart evenly; before the first and after the last they are assumed not to drift. Later times stay later,
/// since the round trips of two readings do not overlap.
class ClockAlignment {
 public:
  /// Throws Error when `reading` is earlier than the one before.
  void add(const ClockReading& reading);
  /// Rank 0's time when this rank's clock said `own`; without a reading, `own` itself.
  Seconds common(Seconds own) const;
  /// The largest of the readings': by how much common() may be wrong while the clocks drift evenly.
  Seconds uncertainty() const;

 private:
  std::vector<ClockReading> readings_;
};

}  // namespace shardline
