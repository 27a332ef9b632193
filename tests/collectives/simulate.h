#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule.h"

namespace shardline::collectives {

/// A collective to be run by the simulator. Elements are whole numbers.
struct Scenario {
  Index positions = 0;
  std::function<Schedule(Index position)> schedule_of;
  std::vector<std::vector<Index>> inputs;  ///< by position
  std::vector<Index> output_sizes;         ///< by position
  bool in_place = false;                   ///< input and output are the same memory
  std::function<Index(Index received, Index operand)> combine = [](Index a, Index b) { return a + b; };
};

/// What each position holds in the end (elements that nothing was received into are kUntouched, in place the input's)
/// and how many elements it sent.
struct Outcome {
  std::vector<std::vector<Index>> outputs;
  std::vector<Index> sent;
};

inline constexpr Index kUntouched = -1000003;

/// Runs the schedules of all positions in one process. Strict where MPI may be lenient: a send ends only when its
/// receive is there. Throws std::runtime_error on a deadlock, on a send and a receive of different sizes, on pieces
/// outside their buffers, on an input that is written, and on steps whose transfers depend on each other.
Outcome simulate(const Scenario& scenario);

}  // namespace shardline::collectives
