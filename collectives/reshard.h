#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "runtime/layout/sharding.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// Collective over every axis of every dim that changes: moves an array of shape `logical` from one sharding to
/// another. `in` and `out` are this rank's boxes under `from` and `to`. Both shardings have the same unreduced
/// axes, and these stay unreduced. Buffers and errors as in start_all_gather().
Handle start_reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
                     Tensor& out, const Options& options = {});
/// start_reshard() and wait().
void reshard(Engine& engine, const Tensor& in, const Shape& logical, const Sharding& from, const Sharding& to,
             Tensor& out, const Options& options = {});

}  // namespace shardline::collectives
