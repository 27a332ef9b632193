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

/// A call of a kernel to be timed.
struct KernelSample {
  std::string name;  ///< by which programs know the kernel
  kernels::Cost cost;
  std::function<void()> run;
};

/// The kernels to time, for one type of elements.
using KernelSamples = std::vector<KernelSample> (*)(DType);

/// The rate of every sampled kernel, by name, in FLOPs as its cost counts them. Kernels that only move data are left
/// out, since memory bounds them. All ranks work at once and the slowest counts. Collective over `comm`.
std::map<std::string, FlopsPerSecond> probe_kernels(const mpi::Communicator& comm, Seconds budget,
                                                    const std::vector<KernelSample>& samples);

}  // namespace shardline::roofline
