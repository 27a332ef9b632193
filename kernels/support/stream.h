#pragma once

#include "runtime/base/shape.h"

namespace shardline::kernels {

/// Copies `bytes` past the caches where the machine can: for results that are far larger than the caches, which would
/// otherwise be read before they are written. Regions must not overlap. What was copied is visible to other processes
/// in the order of later stores only after stream_fence().
void stream_copy(const void* from, void* to, Index bytes);

/// Orders all stream_copy() before the stores that follow.
void stream_fence();

}  // namespace shardline::kernels
