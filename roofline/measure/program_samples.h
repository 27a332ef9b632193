#pragma once

#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/step_probe.h"

namespace shardline::roofline {

/// What a calibration times of programs. All functions must be given; programs stand on a floor above.
struct ProgramSamples {
  KernelSamples kernels = nullptr;
  MakeProgramSample program = nullptr;
};

}  // namespace shardline::roofline
