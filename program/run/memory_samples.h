#pragma once

#include <vector>

#include "roofline/measure/program_samples.h"
#include "runtime/base/dtype.h"

namespace shardline {

/// Kernels that read a large operand once, from beyond the caches: thin products of both kinds, and attention over a
/// cache, for each of roofline::kRowsFromMemory. Each run takes other memory than those before it. `dtype`: f32 or
/// bf16.
std::vector<roofline::KernelSample> samples_from_memory(DType dtype);

}  // namespace shardline
