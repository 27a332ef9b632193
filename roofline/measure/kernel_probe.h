#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/support/cost.h"
#include "runtime/base/dtype.h"
#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// A call of a kernel for a measurement: on arrays of a few hundred kilobytes.
struct KernelSample {
  std::string name;  ///< the name of the kernel in programs
  kernels::Cost cost;
  std::function<void()> run;
};

/// The kernels to time, for one element type. The operations of programs provide them, which are on a higher
/// floor.
using KernelSamples = std::vector<KernelSample> (*)(DType);

/// The rate of every sampled kernel, by name, in FLOPs as in its cost. Leaves out kernels that only move data,
/// because memory binds them. All ranks work at once and the slowest counts. Collective over `comm`.
std::map<std::string, FlopsPerSecond> probe_kernels(const mpi::Communicator& comm, Seconds budget,
                                                    const std::vector<KernelSample>& samples);

}  // namespace shardline::roofline
