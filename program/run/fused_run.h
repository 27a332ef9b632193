#pragma once

#include <functional>
#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/rank_program.h"
#include "program/plan/fusion.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// The times of a collective matmul on this rank.
struct FusedTimes {
  Seconds started;                                ///< start of the collective, by now()
  Seconds ended;                                  ///< when its end was seen
  Seconds exposed;                                ///< time that the rank waited for rows
  std::vector<std::vector<TimeRange>> computing;  ///< by product: one range per panel
};

/// Collective over the axes of the fused collective: runs all steps of a collective matmul. `at` gives the
/// blocks of their operands and results; their memory must exist. The array between collective and products is left
/// with the dim of the fusion first. Panels of all products together have work `panel`.
FusedTimes run_fused(collectives::Engine& engine, const RankProgram& program, const FusionGroup& group, Flops panel,
                     const std::function<Tensor&(VersionId)>& at);

/// Runs the product of `fusion` alone, in the panels and the order of run_fused(). What the collective gathers is whole
/// in its operand. The engines of the process are polled between the panels. Returns the times of the polls.
std::vector<TimeRange> run_alone(const collectives::Engine& engine, const RankProgram& program, const Fusion& fusion,
                                 Flops panel, const std::function<Tensor&(VersionId)>& at);

}  // namespace shardline
