#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "runtime/base/shape.h"
#include "runtime/mpi/communicator.h"

namespace shardline::mpi {

/// Bytes to send. `owner` keeps them alive while the message is in flight; when it is null the caller does.
struct SendBuffer {
  const std::byte* data = nullptr;  ///< may be null when there are no bytes
  Index bytes = 0;
  std::shared_ptr<const void> owner;
};

/// Room for a message of exactly `bytes` bytes. `owner` as in SendBuffer.
struct ReceiveBuffer {
  std::byte* data = nullptr;
  Index bytes = 0;
  std::shared_ptr<const void> owner;
};

/// The other end of a message: a rank of the communicator and the tag both ends use.
struct Peer {
  int rank = 0;
  int tag = 0;
};

/// One message in flight; moves, never copies. Destroying it unfinished waits for it on the normal path. While an
/// exception unwinds it does not wait: the buffer is kept until the process ends, since MPI may still use it.
class Request {
 public:
  /// Nothing in flight: done.
  Request() = default;
  Request(Request&& other) noexcept;
  Request& operator=(Request&& other) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request();

  /// True once the message has arrived or its buffer may be used again; the buffer is then let go. Never blocks. Throws
  /// Error when MPI reports a fault or a message of another size has arrived.
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
  Index expected_ = -1;  ///< bytes that a receive must bring; -1 for a send
  std::shared_ptr<const void> owner_;
};

/// Starts to send to `to`. Messages of any size; a message to the own rank is legal.
Request isend(const Communicator& comm, SendBuffer buffer, Peer to);

/// Starts to receive from `from`.
Request irecv(const Communicator& comm, ReceiveBuffer buffer, Peer from);

}  // namespace shardline::mpi
