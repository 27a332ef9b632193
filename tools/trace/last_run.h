#pragma once

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// The most ranks that a timeline shows: the first ones.
inline constexpr Index kMostRanksShown = 8;

/// Collective over `world`, all ranks of the job: the last run on the first ranks, by rank 0's clock. `engine` is that
/// of the ranks that run the same program. In every run the program must have one span per label. Equal on every rank.
/// No ranks if nothing has run.
TimelineFigure last_run(const Trace& trace, collectives::Engine& engine, const mpi::Communicator& world);

}  // namespace shardline::tools
