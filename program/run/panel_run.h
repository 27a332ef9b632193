#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "program/ir/program.h"
#include "runtime/layout/tensor.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// Polls `engine` once; when it did.
TimeRange poll(collectives::Engine& engine);

/// Runs phase `phase` of `op`, an einsum, on the blocks of this rank in panels along the outermost dim of its result
/// and polls `engine` between them, so that collectives in flight move on. `rank_0` are the index ranges of rank 0,
/// whose blocks are the largest: all ranks cut alike, into panels of work `panel`. Returns when it polled.
std::vector<TimeRange> run_panels(collectives::Engine& engine, const Program& program, const Operation& op,
                                  std::size_t phase, const std::vector<Range>& rank_0, Flops panel,
                                  const std::vector<const Tensor*>& operands, Tensor& result);

}  // namespace shardline
