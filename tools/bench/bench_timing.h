#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// How long to time something.
struct TimingPlan {
  Seconds budget;             ///< for all timed runs together
  std::optional<Index> runs;  ///< exactly this many instead
};

/// Times of one run, as `shardline bench` samples them.
struct SampledTimes {
  Index runs = 0;                ///< timed runs in all samples
  std::vector<Seconds> samples;  ///< one run each: several runs in a row, divided by their number
};

/// Runs in a row for each sample: as many as take a millisecond, or a fifth of a shorter budget.
/// Then the effect of the barrier does not count. One run if a run takes longer. `each`: the time
/// of a run.
Index runs_in_a_row(Seconds each, Seconds budget);

/// Splits `runs` into samples of about `in_a_row` runs. Returns the number of runs of each.
std::vector<Index> dealt_out(Index runs, Index in_a_row);

/// Collective over `world`: repeats `run` on every rank. A sample begins with a barrier. Then every
/// rank does its runs one after another, like a loop in a program. Each rank takes its own time,
/// and the slowest one counts. First come runs for a tenth of the budget, which do not count. They
/// decide the number of runs: as many as fit into the budget, in 5 to 10000 samples. Rank 0
/// decides.
SampledTimes sample_times(const mpi::Communicator& world, const TimingPlan& plan, const std::function<void()>& run);

}  // namespace shardline::tools
