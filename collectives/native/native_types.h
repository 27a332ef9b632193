#pragma once

#include <mpi.h>

#include <string>

#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

// The MPI names of element types, reductions and counts.

/// The datatype that moves elements of `dtype`. bf16 moves as 16-bit numbers.
MPI_Datatype mpi_type(DType dtype);

/// The datatype for reductions. Throws UsageError on bf16, which MPI does not know. The message begins with
/// `label`.
MPI_Datatype mpi_sum_type(const std::string& label, DType dtype);

/// The operation. For MPI an average is a sum; the caller divides.
MPI_Op mpi_op(ReduceOp op);

/// `value` as a count or an offset of MPI 3. Throws Error if it does not fit an int. The message begins with
/// `label` and names the limit.
int mpi_count(const std::string& label, Index value);

}  // namespace shardline::collectives
