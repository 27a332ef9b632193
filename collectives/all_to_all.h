#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): moves the axes from one dim to another. `in` is this
/// position's block along `gather_dim` and whole along `split_dim`. `out` is whole along `gather_dim` and this
/// position's block along `split_dim`. Blocks follow the nested block rule. Other dims are equal. In place:
/// `in` and `out` are the same memory, and the run copies it first. Buffers and errors as in
/// start_all_gather().
Handle start_all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                        const Options& options = {});
/// start_all_to_all() and wait().
void all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                const Options& options = {});

/// Starts a job that exchanges chunks by `algorithm`. The caller copies the own chunk.
Handle start_exchange(Engine& engine, Job job, Exchange exchange, Algorithm algorithm, const Options& options);

}  // namespace shardline::collectives
