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
  /// By rank of the communicator: the part of the array of `count` elements that is this rank's. One after the other
  /// from 0 on. An array is what an all_gather gives and the other collectives are given.
  std::vector<Range> blocks;
};

/// The call that a program without this library would write, as the baseline of benchmarks: each call of the result is
/// one call of MPI on the operand and the result where they lie, and nothing else; an average then divides its sums.
/// Collective over `comm`, which must outlive it. Where all blocks are equal that is MPI_Allgather,
/// MPI_Reduce_scatter_block or MPI_Alltoall, otherwise MPI_Allgatherv, MPI_Reduce_scatter or MPI_Alltoallv; an
/// all_reduce is MPI_Allreduce, and a shift is MPI_Sendrecv to the next rank. Throws UsageError on reductions of bf16,
/// and Error when a count does not fit an int.
std::function<void()> native_call(const mpi::Communicator& comm, const NativeCallSpec& spec);

}  // namespace shardline::collectives
