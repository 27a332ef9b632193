#pragma once

#include <mpi.h>

#include "runtime/base/shape.h"

namespace shardline::mpi {

/// The most bytes that are described to MPI as a plain count: 2^30 unless set.
Index message_limit();

/// Lowers or raises the limit for this process (1 to 2^30), so that a test reaches the path of large messages. The two
/// ends of a message need not agree; the ranks of a collective of Communicator must.
void set_message_limit(Index bytes);

/// `bytes` bytes, any 64-bit number of them, as MPI takes them: `count` elements of `type`. Up to message_limit() that
/// is a count of MPI_BYTE; above, one element of a datatype made for it. MPI keeps the datatype of an operation in
/// flight alive by itself, so this object is needed only until the operation is posted.
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
