#pragma once

#include <functional>
#include <vector>

#include "collectives/progress.h"
#include "program/fusion.h"
#include "program/rank_program.h"
#include "runtime/clock.h"
#include "runtime/tensor.h"

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
