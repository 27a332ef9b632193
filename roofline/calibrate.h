#pragma once

#include "collectives/progress.h"
#include "roofline/hardware.h"
#include "runtime/base/dtype.h"

namespace shardline::roofline {

/// Measures this machine in about a second plus a quarter for each axis, all ranks at once, for predictions only: the
/// rate of a matrix product of 512 in `dtype` (f32 or f64), memory bandwidth of a triad over arrays beyond the caches
/// (the store's own read counted), and on each axis latency and bandwidth of ring steps, from an all_gather of a few
/// bytes and one of megabytes. Every rank returns the same figures: those of the slowest rank. Collective over the mesh
/// of `engine`.
Hardware measure_briefly(collectives::Engine& engine, DType dtype);

}  // namespace shardline::roofline
