#pragma once

#include "roofline/measure/program_samples.h"

namespace shardline {

/// The kernels of all operations, in f32 or f64, and a program of all of them on a few elements, which every rank
/// runs without communication.
roofline::ProgramSamples program_samples();

}  // namespace shardline
