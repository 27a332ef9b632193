#pragma once

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// The most ranks that a timeline shows: the first ones.
inline constexpr Index kMostRanksShown = 8;

/// Collective over the mesh of `engine`: the last run on the first ranks, by rank 0's clock. In
/// every run the program must have one span per label. Equal on every rank. No ranks if nothing has
/// run.
TimelineFigure last_run(const Trace& trace, collectives::Engine& engine);

}  // namespace shardline::tools
