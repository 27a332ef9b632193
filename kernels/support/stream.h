#pragma once

#include "runtime/base/shape.h"

namespace shardline::kernels {

/// Copies `bytes` past the caches, if the machine can. For results far larger than the caches: a
/// normal store reads each line before it writes it. Regions must not overlap. Other processes see
/// the copy in order with later stores only after stream_fence().
void stream_copy(const void* from, void* to, Index bytes);

/// Orders all stream_copy() before the stores that follow.
void stream_fence();

}  // namespace shardline::kernels
