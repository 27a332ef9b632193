#include "runtime/mpi/datatype.h"

#include <array>
#include <limits>

#include "runtime/base/check.h"
#include "runtime/mpi/error.h"

namespace shardline::mpi {
namespace {

constexpr Index kLargestLimit = Index{1} << 30;

Index& limit() {
  static Index bytes = kLargestLimit;
  return bytes;
}

/// `pieces` runs of `piece` bytes, then `rest` bytes, without gaps.
MPI_Datatype long_run(Index pieces, Index piece, Index rest) {
  MPI_Datatype run = MPI_DATATYPE_NULL;
  MPI_Datatype runs = MPI_DATATYPE_NULL;
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  SHARDLINE_MPI(MPI_Type_contiguous(static_cast<int>(piece), MPI_BYTE, &run));
  SHARDLINE_MPI(MPI_Type_contiguous(static_cast<int>(pieces), run, &runs));
  const std::array<int, 2> lengths{1, static_cast<int>(rest)};
  const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(pieces * piece)};
  const std::array<MPI_Datatype, 2> types{runs, MPI_BYTE};
  SHARDLINE_MPI(MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &whole));
  SHARDLINE_MPI(MPI_Type_free(&run));
  SHARDLINE_MPI(MPI_Type_free(&runs));
  SHARDLINE_MPI(MPI_Type_commit(&whole));
  return whole;
}

}  // namespace

Index message_limit() { return limit(); }

void set_message_limit(Index bytes) {
  SHARDLINE_CHECK(bytes >= 1 && bytes <= kLargestLimit, "message limit {} is not from 1 to {}", bytes, kLargestLimit);
  limit() = bytes;
}

ByteSpan::ByteSpan(Index bytes) {
  SHARDLINE_CHECK(bytes >= 0, "a message of {} bytes", bytes);
  if (bytes <= limit()) {
    count_ = static_cast<int>(bytes);
    return;
  }
  const Index pieces = bytes / limit();
  SHARDLINE_CHECK(pieces <= std::numeric_limits<int>::max(), "a message of {} bytes in pieces of {}", bytes, limit());
  type_ = long_run(pieces, limit(), bytes % limit());
  count_ = 1;
}

ByteSpan::~ByteSpan() {
  if (type_ != MPI_BYTE) MPI_Type_free(&type_);
}

}  // namespace shardline::mpi
