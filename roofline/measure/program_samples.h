#pragma once

#include "roofline/measure/kernel_probe.h"
#include "roofline/measure/step_probe.h"

namespace shardline::roofline {

/// A calibration times these parts of programs. Callers must give both functions: programs are on a higher floor.
struct ProgramSamples {
  KernelSamples kernels = nullptr;
  MakeProgramSample program = nullptr;
};

}  // namespace shardline::roofline
