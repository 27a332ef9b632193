#pragma once

#include <vector>

#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): moves the axes from one dim to another. `in` is this position's block
/// along `gather_dim` and whole along `split_dim`; `out` is whole along `gather_dim` and this position's block along
/// `split_dim`, blocks by the nested block rule; other dims are equal. In place: `in` and `out` are the same memory, of
/// which a copy is made. Buffers and errors as in start_all_gather().
Handle start_all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                        const Options& options = {});
/// start_all_to_all() and wait().
void all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                const Options& options = {});

/// The steps of a position that exchanges a chunk with every other one; sizes may all differ. The own chunk is left to
/// the caller. Throws UsageError when there is no such algorithm.
Schedule all_to_all_schedule(Algorithm algorithm, const Placement& placement, const Exchange& exchange);

/// Takes into flight a job that exchanges chunks by `algorithm`, with its own chunk left to the caller.
Handle start_exchange(Engine& engine, Job job, Exchange exchange, Algorithm algorithm, const Options& options);

}  // namespace shardline::collectives
