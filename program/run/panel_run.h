#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// Polls `engine` once, and returns when.
TimeRange poll(collectives::Engine& engine);

/// Runs phase `phase` of `op`, an einsum, on the blocks of this rank. It cuts the outermost dim of
/// the result into panels of work `panel`, and polls `engine` between them, so collectives in
/// flight move on. `rank_0` has the index ranges of rank 0, whose blocks are the largest: all ranks
/// cut in the same way. Returns the times of the polls.
std::vector<TimeRange> run_panels(collectives::Engine& engine, const Program& program, const Operation& op,
                                  std::size_t phase, const std::vector<Range>& rank_0, Flops panel,
                                  const std::vector<const Tensor*>& operands, Tensor& result);

}  // namespace shardline
