#pragma once

#include <functional>
#include <map>
#include <string>

#include "collectives/run/progress.h"
#include "roofline/price/gemm_rates.h"
#include "runtime/base/dtype.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// The times of the steps of one run of a program on this rank.
struct StepTimes {
  std::map<std::string, Seconds> kernels = {};  ///< the mean of the steps of each kernel, by name; see kMatrixProduct
  Seconds between = {};                         ///< time outside of steps, for each step
};

/// A program of every kernel on a few elements, in turn, and of matrix products.
struct ProgramSample {
  std::function<StepTimes()> run;  ///< runs it once on this rank
  Index product = 0;               ///< m, n and k of the matrix products
};

/// Makes the sample for one element type. Collective over the mesh of `engine`.
using MakeProgramSample = ProgramSample (*)(collectives::Engine& engine, DType dtype);

/// The latency of each kernel, by name: the time of its step plus the time between two steps minus `overhead`. For
/// matrix products also minus the time by their rate in `gemm`. None is negative. All ranks run at once and the slowest
/// counts. Collective over `comm`.
std::map<std::string, Seconds> probe_latencies(const mpi::Communicator& comm, Seconds budget,
                                               const ProgramSample& sample, Seconds overhead, const GemmRates& gemm);

}  // namespace shardline::roofline
