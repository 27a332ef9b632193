#pragma once

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): every position gets the operands of all positions, combined
/// element by element. `in` and `out` have the same shape and may be the same memory. Except for `native`,
/// every position has the same bits. Most algorithms do a reduce_scatter and then an all_gather over near-equal
/// chunks of the flat array. Order of addition and errors as in start_reduce_scatter().
Handle start_all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                        const Options& options = {});
/// start_all_reduce() and wait().
void all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                const Options& options = {});

/// Collective over `axes`: the largest value of all ranks, element by element. Each rank gives the same number
/// of values.
std::vector<double> max_over(Engine& engine, const Axes& axes, const std::vector<double>& values);

}  // namespace shardline::collectives
