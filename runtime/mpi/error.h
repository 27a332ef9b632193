#pragma once

#include <mpi.h>

namespace shardline::mpi {

/// Throws Error unless `code` is MPI_SUCCESS. The message has the call, the place, the rank and
/// MPI's text.
void check(int code, const char* call, const char* file, int line);

}  // namespace shardline::mpi

/// Every MPI call goes through this.
#define SHARDLINE_MPI(call) ::shardline::mpi::check((call), #call, __FILE__, __LINE__)
