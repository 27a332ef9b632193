#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "roofline/machine/machine.h"
#include "roofline/measure/program_samples.h"
#include "runtime/base/dtype.h"

namespace shardline::roofline {

/// What calibrate() measures, and for how long.
struct CalibrationOptions {
  ProgramSamples samples;
  std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16};
  std::vector<Index> gemm_sizes = {4, 32, 128, 512, 1536};
  int rounds = 15;       ///< of all measurements; the median counts
  Seconds most{50};      ///< fewer rounds, but at least one, if they would take longer
  Seconds budget{2e-3};  ///< for each figure in each round
  /// Also measure, once, which library multiplies faster, and the fastest algorithms of the collectives. Products of
  /// this process are then by the faster library.
  bool choose = true;
};

/// Measures the machine of the ranks of `engine` while all are busy: rates of kernels, memory and links,
/// contention of the ranks, and the fastest algorithms of collectives. The slowest rank counts in each figure.
/// Of `measured` it sets only the list of unreliable figures. Every rank returns the same. Collective over
/// the mesh of `engine`.
Machine calibrate(collectives::Engine& engine, const CalibrationOptions& options);

/// The most memory of calibrate() on a rank: its own memory, and shared memory if a node has several ranks.
/// Measured: 320 MB and 65 MB.
constexpr Bytes kCalibrationMemory{350e6};
constexpr Bytes kCalibrationShared{70e6};

/// The most memory of measure_briefly() on a rank, beside kCalibrationShared. Measured: 150 MB.
constexpr Bytes kBriefMemory{180e6};

/// A short calibration for predictions only, about a second. The ranks compute in `dtype`. Collective over the mesh of
/// `engine`.
Hardware measure_briefly(collectives::Engine& engine, DType dtype, const ProgramSamples& samples);

}  // namespace shardline::roofline
