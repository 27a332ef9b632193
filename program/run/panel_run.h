#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// Polls all engines of the process once, and returns when.
TimeRange poll();

/// Runs phase `phase` of `op`, an einsum, on the blocks of this rank. It cuts the outermost dim of
/// the result into panels of work `panel`, and polls between them, so what is in flight moves on. `rank_0` has the
/// index ranges of rank 0, whose blocks are the largest: all ranks cut in the same way. Returns the times of the polls.
std::vector<TimeRange> run_panels(const Program& program, const Operation& op, std::size_t phase,
                                  const std::vector<Range>& rank_0, Flops panel,
                                  const std::vector<const Tensor*>& operands, Tensor& result);

}  // namespace shardline
