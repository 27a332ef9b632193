#pragma once

#include <vector>

#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): moves the axes from one dim to another. `in` is this position's block
/// along `gather_dim` and whole along `split_dim`; `out` is whole along `gather_dim` and this position's block along
/// `split_dim`, blocks by the nested block rule; other dims are equal. Buffers and errors as in start_all_gather().
Handle start_all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                        const Options& options = {});
/// start_all_to_all() and wait().
void all_to_all(Engine& engine, const Axes& axes, const Tensor& in, int gather_dim, int split_dim, Tensor& out,
                const Options& options = {});

/// The steps of `position` that exchange a chunk with every other one. `sends` are the chunks' places in the input by
/// position of the receiver, `receives` those in the output by position of the sender; sizes may all differ, and what a
/// position sends another must be what that one receives. The own chunk is left to the caller.
Schedule all_to_all_schedule(Algorithm algorithm, const std::vector<Range>& sends, const std::vector<Range>& receives,
                             Index position);

/// Takes into flight a job that exchanges chunks as all_to_all_schedule() says, with its own chunk left to the caller.
Handle start_exchange(Engine& engine, Job job, const std::vector<Range>& sends, const std::vector<Range>& receives,
                      const Options& options);

}  // namespace shardline::collectives
