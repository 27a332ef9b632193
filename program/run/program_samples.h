#pragma once

#include "roofline/measure/program_samples.h"

namespace shardline {

/// The kernels of all operations, in f32 or f64, and a program of additions of a few numbers on every rank, without
/// communication.
roofline::ProgramSamples program_samples();

}  // namespace shardline
