#include "runtime/mpi/request.h"

#include <exception>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/mpi/datatype.h"
#include "runtime/mpi/error.h"

namespace shardline::mpi {
namespace {

/// Buffers of abandoned messages. MPI may write to them until the process ends.
void keep_until_exit(std::shared_ptr<const void> owner) {
  static auto* kept = new std::vector<std::shared_ptr<const void>>();
  kept->push_back(std::move(owner));
}

}  // namespace

Request::Request(MPI_Request request, Index expected, std::shared_ptr<const void> owner)
    : request_(request), expected_(expected), owner_(std::move(owner)) {}

Request::Request(Request&& other) noexcept
    : request_(std::exchange(other.request_, MPI_REQUEST_NULL)),
      expected_(other.expected_),
      owner_(std::move(other.owner_)) {}

Request& Request::operator=(Request&& other) noexcept {
  if (this == &other) return *this;
  abandon();
  request_ = std::exchange(other.request_, MPI_REQUEST_NULL);
  expected_ = other.expected_;
  owner_ = std::move(other.owner_);
  return *this;
}

Request::~Request() { abandon(); }

void Request::abandon() noexcept {
  if (!active()) return;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0 && std::uncaught_exceptions() == 0) {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
  } else if (owner_) {
    keep_until_exit(std::move(owner_));
  }
}

void Request::finish(const MPI_Status& status) {
  owner_.reset();
  if (expected_ < 0) return;
  MPI_Count bytes = 0;
  SHARDLINE_MPI(MPI_Get_elements_x(&status, MPI_BYTE, &bytes));
  SHARDLINE_CHECK(bytes == expected_, "{} bytes arrived from rank {} where {} were expected", bytes, status.MPI_SOURCE,
                  expected_);
}

bool Request::test() {
  if (!active()) return true;
  int done = 0;
  MPI_Status status{};
  SHARDLINE_MPI(MPI_Test(&request_, &done, &status));
  if (done != 0) finish(status);
  return done != 0;
}

void Request::wait() {
  if (!active()) return;
  MPI_Status status{};
  SHARDLINE_MPI(MPI_Wait(&request_, &status));
  finish(status);
}

Request isend(const Communicator& comm, SendBuffer buffer, Peer to) {
  const ByteSpan span(buffer.bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  SHARDLINE_MPI(MPI_Isend(buffer.data, span.count(), span.type(), to.rank, to.tag, comm.get(), &request));
  return {request, -1, std::move(buffer.owner)};
}

Request irecv(const Communicator& comm, ReceiveBuffer buffer, Peer from) {
  const ByteSpan span(buffer.bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  SHARDLINE_MPI(MPI_Irecv(buffer.data, span.count(), span.type(), from.rank, from.tag, comm.get(), &request));
  return {request, buffer.bytes, std::move(buffer.owner)};
}

}  // namespace shardline::mpi
