#pragma once

#include <functional>

#include "collectives/run/progress.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// Steps of a program that do almost no work.
struct OverheadSample {
  int steps = 0;
  std::function<void()> run;  ///< runs all of them once
};

/// Makes the sample. Collective over the mesh of `engine`.
using MakeOverheadSample = OverheadSample (*)(collectives::Engine& engine);

/// The time of one step beside its work. All ranks run at once and the slowest counts. Collective over
/// `comm`.
Seconds probe_overhead(const mpi::Communicator& comm, Seconds budget, const OverheadSample& sample);

}  // namespace shardline::roofline
