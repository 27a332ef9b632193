#pragma once

#include <vector>

#include "collectives/run/progress.h"
#include "roofline/machine/machine.h"
#include "roofline/measure/kernel_probe.h"
#include "runtime/base/dtype.h"

namespace shardline::roofline {

/// What calibrate() measures, and how long.
struct CalibrationOptions {
  KernelSamples kernels = nullptr;  ///< must be given
  std::vector<DType> dtypes = {DType::f32, DType::f64, DType::bf16};
  std::vector<Index> gemm_sizes = {4, 32, 128, 512, 1536};
  int rounds = 15;       ///< everything is measured so often, and the median counts;
  Seconds most{50};      ///< less often where that would take longer, but once
  Seconds budget{2e-3};  ///< for each figure in each round
  bool tune = true;      ///< and, once, which algorithms suit the collectives
};

/// Measures the machine that the ranks of `mesh` run on, all of them busy: what they compute with, their memory, what
/// joins them, what they leave each other, and by which algorithms collectives are fastest. Each figure is that of the
/// slowest rank. Says nothing about where and when (`measured`), but for the figures that are not to be relied on.
/// Every rank returns the same. Collective over `mesh`.
Machine calibrate(const Mesh& mesh, const CalibrationOptions& options);

/// What calibrate() takes on a rank at most: for itself, and of memory that the ranks of a node share, where there are
/// several. Measured: 150 MB and 65 MB.
constexpr Bytes kCalibrationMemory{180e6};
constexpr Bytes kCalibrationShared{70e6};

/// The same in about a second, for predictions only, as the ranks compute in `dtype`. Takes no more memory. Collective
/// over the mesh of `engine`.
Hardware measure_briefly(collectives::Engine& engine, DType dtype, KernelSamples kernels);

}  // namespace shardline::roofline
