#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): every position gets the blocks of all positions, in order of
/// position. `in` is this position's block along `dim` by the nested block rule. `out` is whole along `dim`.
/// Other dims are equal. In place: `in` is the own block's place in `out`, and contiguous. `in` is not written.
/// The run shares ownership of both storages. Throws Error on other shapes or other overlaps of buffers,
/// UsageError on axes that the mesh does not have.
Handle start_all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out,
                        const Options& options = {});
/// The flat elements of `out` in the order in which an all_gather along dim 0 by messages completes them on this
/// position. Starts nothing. `out` need not hold anything.
std::vector<Range> gather_order(const Engine& engine, const Axes& axes, const Tensor& out, const Options& options = {});
/// start_all_gather() and wait().
void all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
