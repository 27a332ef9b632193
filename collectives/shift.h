#pragma once

#include "collectives/options.h"
#include "collectives/progress.h"
#include "collectives/schedule.h"
#include "runtime/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): position i gets in `out` what position i - offset (mod p) gave as
/// `in`. `offset` may be negative and of any size. Shapes may differ between positions and between `in` and `out`: the
/// sizes that two positions expect of each other must agree, or the operation ends in an Error (when the sender sends
/// more, or less in one segment) or runs into the engine's timeout. In place: `in` and `out` are the same memory, of
/// which a copy is made. Buffers as in start_all_gather(). Algorithms: ring, direct and native.
Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options = {});
/// start_shift() and wait().
void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options = {});

/// One step of `ring`: `send_size` elements to position + offset, `receive_size` from position - offset. Empty, and the
/// copy left to the caller, when offset is a multiple of the positions. Throws UsageError on other algorithms.
Schedule shift_schedule(Algorithm algorithm, const Placement& placement, Index send_size, Index receive_size,
                        Index offset);

}  // namespace shardline::collectives
