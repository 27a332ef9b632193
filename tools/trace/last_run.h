#pragma once

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"
#include "tools/report/timeline_plot.h"

namespace shardline::tools {

/// Ranks that timelines show, at most: the first ones.
inline constexpr Index kMostRanksShown = 8;

/// Collective over the mesh of `engine`: what the first ranks did in the last run of a program whose every run has one
/// span for each label, by rank 0's clock. Equal on every rank; no ranks when nothing has run.
TimelineFigure last_run(const Trace& trace, collectives::Engine& engine);

}  // namespace shardline::tools
