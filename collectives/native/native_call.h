#pragma once

#include <functional>
#include <vector>

#include "collectives/schedule/options.h"
#include "runtime/base/reduce_op.h"
#include "runtime/layout/tensor.h"
#include "runtime/mpi/communicator.h"

namespace shardline::collectives {

/// One of MPI's blocking collectives on a program's own arrays.
struct NativeCallSpec {
  Kind kind = Kind::all_gather;
  ReduceOp op = ReduceOp::sum;  ///< of reductions
  Tensor operand;
  Tensor result;
  /// By rank of the communicator: this rank's part of the array of `count` elements. The parts follow each
  /// other from 0 on. The array is the result of an all_gather, and the operand of the other collectives.
  std::vector<Range> blocks;
};

/// The call of a program without this library, as the baseline of benchmarks. Each call of the returned
/// function is one call of MPI on the operand and the result in place, and nothing else. An average then
/// divides its sums. Collective over `comm`, which must outlive it. With equal blocks the call is
/// MPI_Allgather, MPI_Reduce_scatter_block or MPI_Alltoall, otherwise MPI_Allgatherv, MPI_Reduce_scatter or
/// MPI_Alltoallv. An all_reduce is MPI_Allreduce, and a shift is MPI_Sendrecv to the next rank. Throws
/// UsageError on reductions of bf16, and Error if a count does not fit an int.
std::function<void()> native_call(const mpi::Communicator& comm, const NativeCallSpec& spec);

}  // namespace shardline::collectives
