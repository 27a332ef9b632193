#pragma once

#include <mpi.h>

#include "runtime/base/shape.h"

namespace shardline::mpi {

/// Up to this many bytes a message is a plain count for MPI: 2^30 unless set.
Index message_limit();

/// Sets the limit for this process (1 to 2^30), so that a test can reach the path of large
/// messages. Two ends of a message may have different limits. The ranks of a collective of
/// Communicator must have the same.
void set_message_limit(Index bytes);

/// `bytes` bytes, any 64-bit number, in the form that MPI takes: `count` elements of `type`. Up to
/// message_limit() this is a count of MPI_BYTE; above, one element of a new datatype. MPI itself
/// keeps the datatype of an operation in flight, so this object may go once the operation is
/// posted.
class ByteSpan {
 public:
  explicit ByteSpan(Index bytes);
  ~ByteSpan();
  ByteSpan(const ByteSpan&) = delete;
  ByteSpan& operator=(const ByteSpan&) = delete;

  MPI_Datatype type() const { return type_; }
  int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
};

}  // namespace shardline::mpi
