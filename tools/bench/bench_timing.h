#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::tools {

/// How long something is to be timed.
struct TimingPlan {
  Seconds budget;             ///< of all timed runs together
  std::optional<Index> runs;  ///< exactly so many instead
};

/// Times of a run, as `shardline bench` takes them.
struct SampledTimes {
  Index runs = 0;                ///< timed, in all samples together
  std::vector<Seconds> samples;  ///< each the time of one run: that of several in a row over their number
};

/// Runs in a row that make each of the samples: as many as take a millisecond or, where the budget is short, a fifth of
/// it, so that what a barrier leaves behind does not count; one where a run takes longer. `each`: the time of a run.
Index runs_in_a_row(Seconds each, Seconds budget);

/// `runs` dealt out to samples of about `in_a_row` runs: the number of runs of each.
std::vector<Index> dealt_out(Index runs, Index in_a_row);

/// Collective over `world`: does `run` on every rank over and over. A sample begins with a barrier, after which every
/// rank does its runs one after the other, as a loop in a program would. Each rank takes its time for them, and that of
/// the slowest one counts. First come runs for a tenth of the budget that do not count, of which the number of runs
/// follows: as many as fit into the budget, in at least 5 and at most 10000 samples. Rank 0 decides on the numbers.
SampledTimes sample_times(const mpi::Communicator& world, const TimingPlan& plan, const std::function<void()>& run);

}  // namespace shardline::tools
