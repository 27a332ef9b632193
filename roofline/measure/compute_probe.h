#pragma once

#include <vector>

#include "roofline/machine/machine.h"
#include "roofline/measure/kernel_probe.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// How much is measured.
struct ProbeEffort {
  std::vector<Index> gemm_sizes;  ///< for each extent of a matrix product
  Seconds budget;                 ///< for one figure, spent on runs that take less
  KernelSamples kernels;          ///< timed after the matrix products
};

/// Rates of matrix products of all extents of the grid, and of every other kernel on arrays that lie in the caches, in
/// `dtype` (f32, f64, or bf16 as products take it: widened to f32 first). All ranks work at once and the slowest
/// counts. Collective over `comm`.
Compute probe_compute(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort);

/// How much ranks slow each other down in matrix products: the rate with all ranks busy over the rate of one rank
/// alone, in f32, at the largest size of the grid.
/// Collective over `comm`.
double probe_gemm_contention(const mpi::Communicator& comm, const ProbeEffort& effort);

}  // namespace shardline::roofline
