#pragma once

#include <vector>

#include "collectives/progress.h"
#include "program/program.h"
#include "runtime/tensor.h"

namespace shardline {

/// Runs phase `phase` of `op`, an einsum, on the blocks of this rank in panels along the longest dim of its result and
/// polls `engine` between them, so that collectives in flight move on. `rank_0` are the index ranges of rank 0, whose
/// blocks are the largest: all ranks cut alike.
void run_panels(collectives::Engine& engine, const Operation& op, std::size_t phase, const std::vector<Range>& rank_0,
                const std::vector<const Tensor*>& operands, Tensor& result);

}  // namespace shardline
