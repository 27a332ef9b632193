#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// A collective to be run by the simulator. Elements are whole numbers.
struct Scenario {
  Index positions = 0;
  std::function<Schedule(Index position)> schedule_of;
  std::vector<std::vector<Index>> inputs;  ///< by position
  std::vector<Index> output_sizes;         ///< by position
  bool in_place = false;                   ///< input and output are the same memory
  std::function<Index(Index, Index)> combine = [](Index a, Index b) { return a + b; };
  std::function<Index(Index)> last = [](Index a) { return a; };  ///< what a completed reduction becomes
  std::uint64_t seed = 0;                                        ///< of the order in which strands get their turns
};

/// What each position holds in the end (elements that nothing was received into are kUntouched, in place the input's)
/// and how many elements it sent to every other.
struct Outcome {
  std::vector<std::vector<Index>> outputs;
  std::vector<std::vector<Index>> sent;  ///< [from][to]

  Index sent_by(Index position) const;
};

inline constexpr Index kUntouched = -1000003;

/// Runs the schedules of all positions in one process, strands taking turns at random. Strict where MPI may be lenient:
/// a send ends only when its receive is there. Throws std::runtime_error on a deadlock, on a send and a receive that
/// differ in size or in whether they are partial, on pieces outside their buffers, on an input that is written, and on
/// rounds whose transfers depend on each other.
Outcome simulate(const Scenario& scenario);

}  // namespace shardline::collectives
