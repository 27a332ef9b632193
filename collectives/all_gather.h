#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): every position gets the blocks of all, in order of position. `in` is
/// this position's block along `dim` by the nested block rule, `out` is whole along `dim`; other dims are equal. In
/// place: `in` is its own block's place in `out`, where that is contiguous. The returned run co-owns both
/// storages; `in` is not written. Throws Error on shapes other than these and on buffers that overlap otherwise,
/// UsageError on axes that the mesh does not have.
Handle start_all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out,
                        const Options& options = {});
/// start_all_gather() and wait().
void all_gather(Engine& engine, const Axes& axes, const Tensor& in, int dim, Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
