#pragma once

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over `axes` (ordered, major first): position i gets in `out` what position i - offset (mod p) gave as
/// `in`. `offset` may be negative and of any size. Shapes may differ between positions and between `in` and `out`: the
/// sizes that two positions expect of each other must agree, or the run ends in an Error (when the sender sends
/// more, or less in one segment) or runs into the engine's timeout. In place: `in` and `out` are the same memory, of
/// which a copy is made. Buffers as in start_all_gather(). Algorithms: ring, direct and native.
Handle start_shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out,
                   const Options& options = {});
/// start_shift() and wait().
void shift(Engine& engine, const Axes& axes, const Tensor& in, Index offset, Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
