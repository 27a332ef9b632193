#pragma once

#include <functional>
#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/rank_program.h"
#include "program/plan/fusion.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// What a collective matmul took on this rank.
struct FusedTimes {
  Seconds started;                   ///< when the collective was, by now()
  Seconds ended;                     ///< when it was seen to have ended
  Seconds exposed;                   ///< that the rank waited for rows
  std::vector<TimeRange> computing;  ///< of each panel
};

/// Collective over the axes of the fused collective: runs both steps of `fusion`. `at` gives the blocks of their
/// operands and results, for which there is room already; the array between the two is left laid out with the dim of
/// the fusion first. Panels have work `panel`.
FusedTimes run_fused(collectives::Engine& engine, const RankProgram& program, const Fusion& fusion, Flops panel,
                     const std::function<Tensor&(VersionId)>& at);

}  // namespace shardline
