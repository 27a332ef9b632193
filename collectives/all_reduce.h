#pragma once

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): every position gets the operands of all, combined element by element.
/// `in` and `out` have the same shape and may be the same memory. The result is bitwise the same on every position but
/// with `native`. Most algorithms make it of a reduce_scatter and an all_gather over near-equal chunks of the flat
/// array; order of addition and errors as in start_reduce_scatter().
Handle start_all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                        const Options& options = {});
/// start_all_reduce() and wait().
void all_reduce(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, Tensor& out,
                const Options& options = {});

/// Collective over `axes`: the largest of the ranks' values, element by element; the same number of them on each.
std::vector<double> max_over(Engine& engine, const Axes& axes, const std::vector<double>& values);

}  // namespace shardline::collectives
