#pragma once

#include <vector>

#include "roofline/machine/machine.h"
#include "roofline/measure/kernel_probe.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// The amount of work of a measurement.
struct ProbeEffort {
  std::vector<Index> gemm_sizes;  ///< for each extent of a matrix product
  Seconds budget;                 ///< for one figure, unless one run takes longer
  KernelSamples kernels;          ///< timed after the matrix products
};

/// Measures matrix products of all extents of the grid and every other kernel on arrays in the caches, in
/// `dtype`: f32, f64 or bf16. All ranks work at once and the slowest
/// counts. Collective over `comm`.
Compute probe_compute(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort);

/// Times the largest product of the grid by each library that can make it in `dtype`, and sets the faster one for this
/// process. All ranks set the same. Collective over `comm`.
void choose_library(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort);

/// Contention of matrix products: the rate with all ranks busy over the rate of one rank alone, in f32, at the
/// largest size of the grid. Collective over `comm`.
double probe_gemm_contention(const mpi::Communicator& comm, const ProbeEffort& effort);

}  // namespace shardline::roofline
