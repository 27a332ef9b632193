#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): combines the operands of all positions element by element.
/// Each position gets its block of the result. `in` is whole along `dim`. `out` is this position's block by the
/// nested block rule. Other dims are equal. The algorithm fixes the order of addition; the order of arrival
/// does not matter. `ring` adds the block of position i in the order i + 1, i + 2, ..., i (mod p). `pairwise`
/// and `direct` add in order of position. `native` has its own order and no bf16. For bf16 see Wire. An average
/// is a sum that is divided once. In place: `out` is the own block's place in `in`, and contiguous. Buffers and
/// errors as in start_all_gather(). UsageError on an average of integers.
Handle start_reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                            const Options& options = {});
/// start_reduce_scatter() and wait().
void reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                    const Options& options = {});

}  // namespace shardline::collectives
