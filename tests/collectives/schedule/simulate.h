#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/schedule.h"

namespace shardline::collectives {

/// A collective for the simulator. Elements are whole numbers.
struct Scenario {
  Index positions = 0;
  std::function<Schedule(Index position)> schedule_of;
  std::vector<std::vector<Index>> inputs;  ///< by position
  std::vector<Index> output_sizes;         ///< by position
  bool in_place = false;                   ///< input and output are the same memory
  std::function<Index(Index, Index)> combine = [](Index a, Index b) { return a + b; };
  std::function<Index(Index)> last = [](Index a) { return a; };  ///< the value of a completed reduction
  std::uint64_t seed = 0;                                        ///< of the random order of the strands
};

/// The final output of each position, and the number of elements that it sent to every other. An element
/// without a receive is kUntouched, or in place the input's element.
struct Outcome {
  std::vector<std::vector<Index>> outputs;
  std::vector<std::vector<Index>> sent;  ///< [from][to]

  Index sent_by(Index position) const;
};

inline constexpr Index kUntouched = -1000003;

/// Runs the schedules of all positions in one process. Strands take turns at random. It is stricter than MPI: a
/// send ends only if its receive is posted. Throws std::runtime_error on a deadlock, on a send and a receive
/// that differ in size or in `partial`, on pieces outside their buffers, on a write to an input, and on rounds
/// whose transfers depend on each other.
Outcome simulate(const Scenario& scenario);

}  // namespace shardline::collectives
