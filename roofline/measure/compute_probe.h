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
  KernelSamples kernels;          ///< beside matrix products
};

/// Rates of matrix products of all extents of the grid, and of every other kernel on arrays that lie in the caches, in
/// `dtype` (f32, f64, or bf16 as products take it: widened to f32 first). All ranks work at once and the slowest
/// counts. Collective over `comm`.
Compute probe_compute(const mpi::Communicator& comm, DType dtype, const ProbeEffort& effort);

/// Rate of a matrix product of the largest size of the grid in f32 with all ranks busy over that of one rank alone.
/// Collective over `comm`.
double probe_gemm_contention(const mpi::Communicator& comm, const ProbeEffort& effort);

}  // namespace shardline::roofline
