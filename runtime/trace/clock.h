#pragma once

#include <functional>
#include <vector>

#include "runtime/base/units.h"

namespace shardline {

class Mesh;
namespace mpi {
class Communicator;
}

/// Time of this process's steady clock. Only differences have a meaning. ClockAlignment compares
/// ranks.
Seconds now();

/// From one moment to another, by this process's now().
struct TimeRange {
  Seconds begin{};
  Seconds end{};
};
inline Seconds length(const TimeRange& range) { return range.end - range.begin; }

/// A source of time: now(), or a test's replacement.
using Clock = std::function<Seconds()>;

/// How far a rank's clock is behind rank 0's, measured at one moment.
struct ClockReading {
  Seconds at;           ///< on the rank's own clock
  Seconds behind;       ///< add it to the own time to get rank 0's time
  Seconds uncertainty;  ///< largest error of `behind`: half of the measured round trip
};

/// Collective over `comm`: compares every rank's clock with rank 0's once, by ping-pong. The
/// fastest of several round trips counts. The other clock is assumed to be read in the middle of
/// it. `clock_of` gives for every rank the lowest rank with the same clock; only that rank is
/// asked. A rank with rank 0's clock is exactly 0 behind, with no uncertainty. The result is the
/// same on all ranks.
ClockReading compare_clocks(const mpi::Communicator& comm, const std::vector<int>& clock_of, const Clock& clock = now);

/// Collective over the mesh: the same for now(). All ranks of a node read one clock
/// (CLOCK_MONOTONIC of its kernel).
ClockReading compare_clocks(const Mesh& mesh);

/// Converts one rank's time to rank 0's, from readings in the order of time. Between two readings
/// the drift is assumed to be even; before the first and after the last it is assumed to be zero.
/// Later times stay later, because the round trips of two readings do not overlap.
class ClockAlignment {
 public:
  /// Throws Error if `reading` is earlier than the last one.
  void add(const ClockReading& reading);
  /// Rank 0's time when this rank's clock showed `own`. Without readings it is `own`.
  Seconds common(Seconds own) const;
  /// The largest uncertainty of the readings: the largest error of common() while the clocks drift
  /// evenly.
  Seconds uncertainty() const;

 private:
  std::vector<ClockReading> readings_;
};

}  // namespace shardline
