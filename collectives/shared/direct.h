#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/progress.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

// Algorithm `direct`: ranks of one node keep their arrays in a shared arena and read each other's where they lie, so
// that a collective is one pass over memory, without packing and without messages. Every one is collective over the
// job's axes and is for groups of more than one; blocks are those of the nested block rule, by position. Sums are taken
// in order of position, those of bf16 in f32 and rounded once (wire `exchange`). When a run ends, no rank reads
// its operand any more. `in` and `out` may share memory as said for each function, not otherwise. A rank that finds
// another in a different collective, or in the same with other shapes, throws Error that names both.

/// Why `direct` cannot carry out `job` between these tensors; empty when it can. Alike on all ranks of the group when
/// all give tensors of the arena, or all do not.
std::string direct_obstacle(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out);
bool direct_possible(const Engine& engine, const Job& job, const Tensor& in, const Tensor& out);

/// As start_all_gather(). `in` may be the own block's place in `out`.
std::shared_ptr<CollectiveRun> direct_all_gather(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                 const Tensor& out, std::vector<Range> blocks);

/// As start_reduce_scatter(), `own` being this position's block. `out` may be its place in `in`, which is then written.
std::shared_ptr<CollectiveRun> direct_reduce_scatter(Engine& engine, Job&& job, const Tensor& in, int dim,
                                                     const Tensor& out, Range own);

/// As start_all_reduce(). `in` and `out` may be the same. A small array, unless in place, is combined whole by every
/// rank; of others every rank combines a chunk and takes the others' chunks from their results. Both add in the same
/// order.
std::shared_ptr<CollectiveRun> direct_all_reduce(Engine& engine, Job&& job, const Tensor& in, const Tensor& out);

/// The dims of an all_to_all, with every position's block of the one that is gathered and the own block of the one that
/// is split.
struct DirectExchange {
  int gather_dim = 0;
  std::vector<Range> gathered;
  int split_dim = 0;
  Range own_split;
};
/// As start_all_to_all(). `in` and `out` may be the same memory.
std::shared_ptr<CollectiveRun> direct_all_to_all(Engine& engine, Job&& job, const Tensor& in, const Tensor& out,
                                                 DirectExchange exchange);

/// As start_shift(), for an offset that is not a multiple of the number of positions. `in` and `out` may be the same
/// memory.
std::shared_ptr<CollectiveRun> direct_shift(Engine& engine, Job&& job, const Tensor& in, Index offset,
                                            const Tensor& out);

}  // namespace shardline::collectives
