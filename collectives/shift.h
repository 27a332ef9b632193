#pragma once

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): position i gets in `out` the `in` of position i - offset (mod
/// p). `offset` may be negative and of any size. Shapes may differ between positions, and between `in` and
/// `out`, but sender and receiver must expect the same size. Otherwise the run ends in an Error (the sender
/// sends more, or less in one segment) or in the engine's timeout. In place: `in` and `out` are the same
/// memory, and the run copies it first. Buffers as in start_all_gather(). Algorithms: ring, direct and native.
Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options = {});
/// start_shift() and wait().
void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
