#pragma once

#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): position i gets in `out` what position i - offset (mod p) gave as
/// `in`. `offset` may be negative and of any size. Shapes may differ between positions and between `in` and `out`: the
/// sizes that two positions expect of each other must agree, or the operation ends in an Error (when the sender sends
/// more, or less in one segment) or runs into the engine's timeout. Buffers as in start_all_gather().
Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options = {});
/// start_shift() and wait().
void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options = {});

/// One step: `send_size` elements to position + offset, `receive_size` from position - offset. Empty, and the copy left
/// to the caller, when offset is a multiple of `positions`.
Schedule shift_schedule(Algorithm algorithm, Index send_size, Index receive_size, Index offset, Index positions,
                        Index position);

}  // namespace shardline::collectives
