#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/progress.h"
#include "collectives/schedule/options.h"
#include "collectives/schedule/packing.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

/// The beginning of every collective. Collective over `axes`: finds the group and draws the tags. It drops axes
/// of size 1. Without other axes the group has one rank and no communicator. Throws UsageError on an axis that
/// is unknown or given twice, and Error if element types differ.
Job make_job(const Engine& engine, const std::string& name, const Axes& axes, const Tensor& in, Tensor& out);

/// Makes the job fed if `options` ask for it. Throws UsageError if the collective is not along dim 0.
void accept_fed(Job& job, int dim, const Options& options);
/// For collectives that cannot be fed: throws UsageError if `options` ask for it.
void refuse_fed(const Job& job, const Options& options);

/// Sets and returns the algorithm of `job`, and sets the wire of a reduction; job.op must be set before. It is the
/// algorithm of `options`; for `automatic`, the choice of the engine's tuning; for a group of one, `ring`, whose
/// schedule is then empty. `question` holds the kind, the bytes and whether `direct` is possible. Throws UsageError on
/// an average of integers, on a wire that the algorithm does not have, and on a fed job with an algorithm that sends no
/// messages.
Algorithm resolve(const Engine& engine, Job& job, Question question, const Options& options);

/// The placement of this rank in the job's group.
Placement placement_of(const Job& job, const Mesh& mesh);

/// True if `in` and `out` are the same memory. Throws Error on any other overlap.
bool same_memory(const Job& job, const Tensor& in, const Tensor& out);

/// True if `part` is exactly the block `range` of `dim` in `whole`. Throws Error on any other overlap.
bool block_in_place(const Job& job, const Tensor& part, const Tensor& whole, int dim, Range range);

/// Throws Error that names the collective, the axes, both shapes and `dim`, unless both have `dim` and the
/// shapes agree in every dim outside `except`.
void check_shapes(const Job& job, const Tensor& in, const Tensor& out, std::initializer_list<int> except);

/// Throws Error unless `tensor`, named `name`, has `expected` elements along `dim`: this position's block or
/// the whole.
void check_extent(const Job& job, const char* name, const Tensor& tensor, int dim, Index expected);

/// Copies `in` to `out`, the result of a group of one rank. A fed job copies after the input is supplied.
void place_whole(Job& job, const Tensor& in, Tensor& out);

/// The blocks of a dim of size `n`, by position of the job's group.
std::vector<Range> blocks_of(const Job& job, const Mesh& mesh, Index n);

/// Prepares the boxes of `in` for sending. If they are contiguous in the tensor, job.input is the tensor
/// itself, otherwise a packed copy.
Chunks stage_input(Job& job, ScratchPool& pool, const Tensor& in, const std::vector<Box>& boxes);

/// stage_input() that always packs, in the order of `boxes`.
Chunks pack_input(Job& job, ScratchPool& pool, const Tensor& in, const std::vector<Box>& boxes);

/// Prepares memory for the boxes of `out` that other positions send. If they are contiguous in the tensor,
/// job.output is the tensor itself, otherwise a packed buffer; the end of the job unpacks it. The caller fills
/// the own box.
Chunks stage_output(Job& job, ScratchPool& pool, Tensor& out, const std::vector<Box>& boxes);

}  // namespace shardline::collectives
