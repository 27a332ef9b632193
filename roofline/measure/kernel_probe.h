#pragma once

#include <map>
#include <string>

#include "runtime/base/units.h"
#include "runtime/mpi/communicator.h"

namespace shardline::roofline {

/// What every kernel but the matrix product reaches, in FLOPs as its cost counts them, on arrays of a few hundred
/// kilobytes; by the names that programs give them. Kernels that only move data are not among them: memory bounds
/// these. T float or double. All ranks work at once and the slowest counts. Collective over `comm`.
template <class T>
std::map<std::string, FlopsPerSecond> probe_kernels(const mpi::Communicator& comm, Seconds budget);

}  // namespace shardline::roofline
