#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "roofline/machine/machine.h"
#include "roofline/measure/program_samples.h"
#include "runtime/base/dtype.h"

namespace shardline::roofline {

/// What calibrate() measures, and how long.
struct CalibrationOptions {
  ProgramSamples samples;
  std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16};
  std::vector<Index> gemm_sizes = {4, 32, 128, 512, 1536};
  int rounds = 15;       ///< of measuring everything; the median counts
  Seconds most{50};      ///< fewer rounds, but at least one, if they would take longer than this
  Seconds budget{2e-3};  ///< for each figure in each round
  bool tune = true;      ///< and, once, which algorithms suit the collectives
};

/// Measures the machine under the ranks of `engine`, with all of them busy: the rates of kernels, memory, links, how
/// much ranks slow each other down, and which algorithms make collectives fastest. Each figure is that of the slowest
/// rank. Of `measured` it fills in only the list of figures that are not reliable. Every rank returns the same.
/// Collective over the mesh of `engine`.
Machine calibrate(collectives::Engine& engine, const CalibrationOptions& options);

/// The most memory that calibrate() takes on a rank: of its own, and of shared memory where a node has several ranks.
/// Measured: 150 MB and 65 MB.
constexpr Bytes kCalibrationMemory{180e6};
constexpr Bytes kCalibrationShared{70e6};

/// A short calibration, of about a second, for predictions only. The ranks compute in `dtype`. It takes no more memory
/// than calibrate(). Collective over the mesh of `engine`.
Hardware measure_briefly(collectives::Engine& engine, DType dtype, const ProgramSamples& samples);

}  // namespace shardline::roofline
