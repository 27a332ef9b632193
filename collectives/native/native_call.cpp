#include "collectives/native/native_call.h"

#include <mpi.h>

#include <algorithm>
#include <string>

#include "collectives/native/native_types.h"
#include "kernels/reduce.h"
#include "runtime/base/check.h"
#include "runtime/mpi/error.h"

namespace shardline::collectives {
namespace {

/// The arguments that all calls take from a spec.
struct Arguments {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const std::byte* operand = nullptr;
  std::byte* result = nullptr;
  bool equal = true;         ///< all blocks have the same size
  int own = 0;               ///< elements of this rank's block
  std::vector<int> counts;   ///< of the blocks
  std::vector<int> offsets;  ///< begins of the blocks
};

Arguments arguments_of(const mpi::Communicator& comm, const NativeCallSpec& spec) {
  const std::string label(name_of(spec.kind));
  const bool reduces = spec.kind == Kind::reduce_scatter || spec.kind == Kind::all_reduce;
  Arguments arguments;
  arguments.comm = comm.get();
  arguments.type = reduces ? mpi_sum_type(label, spec.operand.dtype()) : mpi_type(spec.operand.dtype());
  arguments.operand = spec.operand.data();
  arguments.result = Tensor(spec.result).data();
  for (const Range& block : spec.blocks) {
    arguments.counts.push_back(mpi_count(label, block.size()));
    arguments.offsets.push_back(mpi_count(label, block.begin));
    arguments.equal = arguments.equal && block.size() == spec.blocks[0].size();
  }
  arguments.own = arguments.counts.at(static_cast<std::size_t>(comm.rank()));
  return arguments;
}

std::function<void()> all_gather_call(const Arguments& a) {
  if (a.equal) {
    return [a] { SHARDLINE_MPI(MPI_Allgather(a.operand, a.own, a.type, a.result, a.own, a.type, a.comm)); };
  }
  return [a] {
    SHARDLINE_MPI(
        MPI_Allgatherv(a.operand, a.own, a.type, a.result, a.counts.data(), a.offsets.data(), a.type, a.comm));
  };
}

std::function<void()> reduce_scatter_call(const Arguments& a, MPI_Op op) {
  if (a.equal) {
    return [a, op] { SHARDLINE_MPI(MPI_Reduce_scatter_block(a.operand, a.result, a.own, a.type, op, a.comm)); };
  }
  return [a, op] { SHARDLINE_MPI(MPI_Reduce_scatter(a.operand, a.result, a.counts.data(), a.type, op, a.comm)); };
}

/// Every rank receives from each rank a block as long as its own.
std::function<void()> all_to_all_call(const Arguments& a) {
  if (a.equal) {
    return [a] { SHARDLINE_MPI(MPI_Alltoall(a.operand, a.own, a.type, a.result, a.own, a.type, a.comm)); };
  }
  const std::vector<int> received(a.counts.size(), a.own);
  std::vector<int> places;
  Index place = 0;
  for (const int count : received) {
    places.push_back(mpi_count(std::string(name_of(Kind::all_to_all)), place));
    place += count;
  }
  return [a, received, places] {
    SHARDLINE_MPI(MPI_Alltoallv(a.operand, a.counts.data(), a.offsets.data(), a.type, a.result, received.data(),
                                places.data(), a.type, a.comm));
  };
}

std::function<void()> shift_call(const Arguments& a, int count, int rank) {
  const auto ranks = static_cast<int>(a.counts.size());
  const int next = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  return [=] {
    SHARDLINE_MPI(
        MPI_Sendrecv(a.operand, count, a.type, next, 0, a.result, count, a.type, before, 0, a.comm, MPI_STATUS_IGNORE));
  };
}

/// `call`, and then the division of the sums in `result` by the number of ranks.
std::function<void()> averaged(const std::function<void()>& call, const Tensor& result, Index ranks) {
  return [call, result = Tensor(result), ranks]() mutable {
    call();
    const kernels::Source sums{.dtype = result.dtype(), .data = result.data()};
    kernels::combine(ReduceOp::sum, {&sums, 1}, {.dtype = result.dtype(), .data = result.data()}, result.size(), ranks);
  };
}

}  // namespace

std::function<void()> native_call(const mpi::Communicator& comm, const NativeCallSpec& spec) {
  SHARDLINE_CHECK(static_cast<int>(spec.blocks.size()) == comm.size(), "{} blocks for {} ranks", spec.blocks.size(),
                  comm.size());
  const Arguments arguments = arguments_of(comm, spec);
  const int count = mpi_count(std::string(name_of(spec.kind)), spec.operand.size());
  std::function<void()> call;
  switch (spec.kind) {
    case Kind::all_gather:
      return all_gather_call(arguments);
    case Kind::all_to_all:
      return all_to_all_call(arguments);
    case Kind::shift:
      return shift_call(arguments, count, comm.rank());
    case Kind::reduce_scatter:
      call = reduce_scatter_call(arguments, mpi_op(spec.op));
      break;
    case Kind::all_reduce:
      call = [a = arguments, count, op = mpi_op(spec.op)] {
        SHARDLINE_MPI(MPI_Allreduce(a.operand, a.result, count, a.type, op, a.comm));
      };
      break;
  }
  return spec.op == ReduceOp::avg ? averaged(call, spec.result, comm.size()) : call;
}

}  // namespace shardline::collectives
