#pragma once

#include <mpi.h>

#include <string>

#include "runtime/base/dtype.h"
#include "runtime/base/reduce_op.h"
#include "runtime/base/shape.h"

namespace shardline::collectives {

// What element types, reductions and counts are called in MPI.

/// The datatype that moves elements of `dtype`; bf16 are 16-bit numbers to it.
MPI_Datatype mpi_type(DType dtype);

/// The datatype that MPI reduces. Throws UsageError, which begins with `label`, on bf16, which MPI does not know.
MPI_Datatype mpi_sum_type(const std::string& label, DType dtype);

/// The operation. An average is a sum for MPI: the caller divides.
MPI_Op mpi_op(ReduceOp op);

/// `value` as a count or an offset of MPI 3. Throws Error that begins with `label` and names the limit where it does
/// not fit an int.
int mpi_count(const std::string& label, Index value);

}  // namespace shardline::collectives
