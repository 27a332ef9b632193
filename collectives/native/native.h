#pragma once

#include <vector>

#include "collectives/run/collective_run.h"
#include "collectives/run/progress.h"
#include "collectives/schedule/packing.h"
#include "collectives/schedule/schedule.h"
#include "runtime/layout/tensor.h"

namespace shardline::collectives {

// The MPI library's own collectives behind the same interface: an oracle for tests. They use MPI's non-blocking
// calls. collectives/native/native_call makes the blocking calls that programs use. Counts are those of MPI 3:
// each function throws Error that names the limit if a count or an offset does not fit an int. Each function is
// collective over the job's axes.

/// All-gathers the whole input into the `chunks` of the output. `own_count`: elements of this position. In
/// place if the input is the own chunk of the output.
Handle start_native_all_gather(Engine& engine, Job job, Index own_count, const std::vector<Range>& chunks);

/// Reduces and scatters the `boxes` of `in`, by position. Throws UsageError on bf16, which MPI does not reduce.
Handle start_native_reduce_scatter(Engine& engine, Job job, const Tensor& in, const std::vector<Box>& boxes);

/// All-reduces `count` elements, in place if input and output are the same. Throws UsageError on bf16.
Handle start_native_all_reduce(Engine& engine, Job job, Index count);

/// Exchanges chunks, also the own one if it is not empty.
Handle start_native_exchange(Engine& engine, Job job, const Exchange& exchange);

}  // namespace shardline::collectives
