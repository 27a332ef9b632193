#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/progress.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

// Algorithm `direct`: ranks of one node keep their arrays in a shared arena and read each other's arrays in
// place. A collective is one pass over memory, without packing and without messages. Each function is
// collective over the job's axes, for groups of more than one rank. Blocks follow the nested block rule, by
// position. Sums add in order of position. Sums of bf16 add in f32 and round once (wire `exchange`). When a run
// ends, no rank reads its operand any more. `in` and `out` may share memory only as each function says. If a
// rank finds another rank in a different collective, or with other shapes, it throws Error that names both.

/// The reason why `direct` cannot carry out `job` between these tensors; empty if it can. The same on all ranks
/// of the group if all tensors are in the arena, or none.
std::string direct_obstacle(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out);
bool direct_possible(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out);

/// As start_all_gather(). `in` may be the own block's place in `out`.
std::shared_ptr<CollectiveRun> direct_all_gather(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                 const Tensor& out, std::vector<Range> blocks);

/// As start_reduce_scatter(). `own` is this position's block. `out` may be its place in `in`; the run then
/// writes `in`.
std::shared_ptr<CollectiveRun> direct_reduce_scatter(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                     const Tensor& out, Range own);

/// As start_all_reduce(). `in` and `out` may be the same. Every rank combines a whole small array, unless it is
/// in place. Of other arrays every rank combines a chunk and copies the other chunks from the other results.
/// Both add in the same order.
std::shared_ptr<CollectiveRun> direct_all_reduce(Engine& engine, Job&& job, const Tensor& in, const Tensor& out);

/// The dims of an all_to_all. `gathered`: every position's block of `gather_dim`. `own_split`: the own block of
/// `split_dim`.
struct DirectExchange {
  int gather_dim = 0;
  std::vector<Range> gathered;
  int split_dim = 0;
  Range own_split;
};
/// As start_all_to_all(). `in` and `out` may be the same memory.
std::shared_ptr<CollectiveRun> direct_all_to_all(Engine& engine, Job&& job, const Tensor& in, const Tensor& out,
                                                 DirectExchange exchange);

/// As start_all_to_all_rows(). `counts`: of `out`. `first`: RowsInUse::first.
std::shared_ptr<CollectiveRun> direct_all_to_all_rows(Engine& engine, Job&& job, const Tensor& in, const Tensor& out,
                                                      DirectExchange exchange, const Tensor& counts, Index first);

/// As start_shift(). `offset` is not a multiple of the number of positions. `in` and `out` may be the same
/// memory.
std::shared_ptr<CollectiveRun> direct_shift(Engine& engine, Job&& job, const Tensor& in, Index offset,
                                            const Tensor& out);

}  // namespace shardline::collectives
