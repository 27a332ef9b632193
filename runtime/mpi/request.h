#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "runtime/base/shape.h"
#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Bytes to send. `owner` keeps them alive while the message is in flight; if it is null, the
/// caller must.
struct SendBuffer {
  const std::byte* data = nullptr;  ///< may be null if there are no bytes
  Index bytes = 0;
  std::shared_ptr<const void> owner;
};

/// Room for a message of exactly `bytes` bytes. `owner` as in SendBuffer.
struct ReceiveBuffer {
  std::byte* data = nullptr;
  Index bytes = 0;
  std::shared_ptr<const void> owner;
};

/// The other end of a message: a rank of the communicator, and the tag of both ends.
struct Peer {
  int rank = 0;
  int tag = 0;
};

/// One message in flight. It moves and never copies. The destructor waits for an unfinished
/// message, but not while an exception unwinds. Then the buffer is kept until the process ends,
/// because MPI may still use it.
class Request {
 public:
  /// Nothing in flight: done.
  Request() = default;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// True once the message has arrived, or once a sent buffer is free again. The buffer is then
  /// released. Never blocks. Throws Error for a fault of MPI or a message of another size.
  bool test();
  /// Blocks until test() would be true.
  void wait();
  bool active() const { return request_ != MPI_REQUEST_NULL; }

 private:
  friend Request isend(const Communicator& comm, SendBuffer buffer, Peer to);
  friend Request irecv(const Communicator& comm, ReceiveBuffer buffer, Peer from);
  Request(MPI_Request request, Index expected, std::shared_ptr<const void> owner);
  void finish(const MPI_Status& status);
  void abandon() noexcept;

  MPI_Request request_ = MPI_REQUEST_NULL;
  Index expected_ = -1;  ///< bytes that a receive expects; -1 for a send
  std::shared_ptr<const void> owner_;
};

/// Starts to send to `to`. Any size is legal, and so is a message to the own rank.
Request isend(const Communicator& comm, SendBuffer buffer, Peer to);

/// Starts to receive from `from`.
Request irecv(const Communicator& comm, ReceiveBuffer buffer, Peer from);

}  // namespace shardline::mpi
