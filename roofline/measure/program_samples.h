#pragma once

#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/overhead_probe.h"

namespace shardline::roofline {

/// What a calibration times of programs. Both functions must be given; programs stand on a floor above.
struct ProgramSamples {
  KernelSamples kernels = nullptr;
  MakeOverheadSample overhead = nullptr;
};

}  // namespace shardline::roofline
