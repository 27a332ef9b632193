#pragma once

#include <vector>

#include "roofline/measure/kernel_probe.h"
#include "runtime/base/dtype.h"

namespace shardline {

/// The kernels of all operations on arrays of a few hundred kilobytes, in f32 or f64. A calibration
/// times them.
std::vector<roofline::KernelSample> kernel_samples(DType dtype);

}  // namespace shardline
