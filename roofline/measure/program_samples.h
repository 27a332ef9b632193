#pragma once

#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/overhead_probe.h"

namespace shardline::roofline {

/// What a calibration times of programs. All functions must be given; programs stand on a floor above.
struct ProgramSamples {
  KernelSamples kernels = nullptr;        ///< on arrays of a few hundred kilobytes
  KernelSamples small_kernels = nullptr;  ///< on a few elements
  MakeOverheadSample overhead = nullptr;
};

}  // namespace shardline::roofline
