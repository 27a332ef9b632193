#pragma once

#include <functional>
#include <vector>

#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "runtime/base/reduce_op.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): combines the operands of all positions element by element and leaves
/// each position its block. `in` is whole along `dim`, `out` this position's block of it by the nested block rule;
/// other dims are equal. Element types f32, f64, i32, and bf16, which is rounded after every addition. With `ring` the
/// block of position i is combined in the order i + 1, i + 2, ..., i (mod p), whatever arrives first; `native` has its
/// own order and no bf16. Buffers and errors as in start_all_gather().
Handle start_reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                            const Options& options = {});
/// start_reduce_scatter() and wait().
void reduce_scatter(Engine& engine, const Axes& axes, ReduceOp op, const Tensor& in, int dim, Tensor& out,
                    const Options& options = {});

/// The steps of `position`. `chunks` are the blocks' places in the input, by position; the output is the own block.
/// Does not place the result when there is one position only.
Schedule reduce_scatter_schedule(Algorithm algorithm, const std::vector<Range>& chunks, Index position);

/// Appends the steps of a ring reduce_scatter. `partial(s)` is where the sum received in step s is kept: it is sent on
/// in step s + 1, and that of step p - 2 is the result.
void append_ring_reduce_scatter(Schedule& schedule, const std::vector<Range>& chunks, Index position,
                                const std::function<Piece(Index s)>& partial);

}  // namespace shardline::collectives
