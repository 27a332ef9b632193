#pragma once

#include <memory>
#include <vector>

#include "collectives/operation.h"

namespace shardline::collectives {

// The MPI library's own collectives (their non-blocking forms) behind the same operations: an oracle for tests and a
// baseline for benchmarks. Counts are those of MPI 3, so each function throws Error that names the limit when a count
// or an offset does not fit an int. Every one is collective over the job's axes.

/// Elements of each chunk to and from every position, and where they lie in the job's input and output.
struct NativeExchange {
  std::vector<Range> sends;
  std::vector<Range> receives;
};

/// MPI_Iallgatherv of the whole input into the `chunks` of the output; `own_count` elements are this position's.
std::shared_ptr<Operation> native_all_gather(Job job, Index own_count, const std::vector<Range>& chunks);

/// MPI_Ireduce_scatter. The input holds a chunk for each position, of `counts` elements, in the order given by
/// by_comm_rank(). Throws Error on bf16, which MPI does not reduce.
std::shared_ptr<Operation> native_reduce_scatter(Job job, const std::vector<Index>& counts);

/// MPI_Iallreduce of `count` elements, in place when input and output are the same. Throws Error on bf16.
std::shared_ptr<Operation> native_all_reduce(Job job, Index count);

/// MPI_Ialltoallv. The chunk for the own position is not moved.
std::shared_ptr<Operation> native_exchange(Job job, NativeExchange exchange);

/// `values`, given by position, in the order of the ranks of the group's communicator.
template <class T>
std::vector<T> by_comm_rank(const Group& group, const std::vector<T>& values) {
  std::vector<T> ordered(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) ordered[static_cast<std::size_t>(group.ranks[i])] = values[i];
  return ordered;
}

}  // namespace shardline::collectives
