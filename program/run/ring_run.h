#pragma once

#include <functional>
#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/rank_program.h"
#include "program/plan/ring_fusion.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// The times of a ring on this rank.
struct RingTimes {
  Seconds started;                   ///< start of the first message, by now()
  Seconds ended;                     ///< when the end of the last was seen
  Seconds exposed;                   ///< time that the rank waited for blocks
  std::vector<TimeRange> computing;  ///< one range per piece of work
};

/// Collective over the axes of the ring: runs its computation and all its collectives. `at` gives the operands of the
/// gathers and of the computation, and the results of the computation and of the scatters; their memory must exist,
/// but for arrays that only the ring would see.
RingTimes run_ring(collectives::Engine& engine, const RankProgram& program, const RingFusion& ring,
                   const std::function<Tensor&(VersionId)>& at);

}  // namespace shardline
