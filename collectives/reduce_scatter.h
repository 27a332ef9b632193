#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): combines the operands of all positions element by element and leaves
/// each position its block. `in` is whole along `dim`, `out` this position's block of it by the nested block rule;
/// other dims are equal. Elements are combined in an order that the algorithm fixes, whatever arrives first: `ring`
/// takes the block of position i in the order i + 1, i + 2, ..., i (mod p), `pairwise` and `direct` in order of
/// position; `native` has its own order and no bf16, for which see Wire. An average is a sum divided once. In place:
/// `out` is its own block's place in `in`, where that is contiguous. Buffers and errors as in start_all_gather();
/// UsageError on an average of integers.
Handle start_reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                            const Options& options = {});
/// start_reduce_scatter() and wait().
void reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                    const Options& options = {});

}  // namespace shardline::collectives
