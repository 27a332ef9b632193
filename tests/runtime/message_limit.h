#pragma once

#include "runtime/mpi/datatype.h"

namespace shardline {

/// Lowers the limit of large messages during its lifetime.
class ScopedMessageLimit {
 public:
  explicit ScopedMessageLimit(Index bytes) : before_(mpi::message_limit()) { mpi::set_message_limit(bytes); }
  ~ScopedMessageLimit() { mpi::set_message_limit(before_); }
  ScopedMessageLimit(const ScopedMessageLimit&) = delete;
  ScopedMessageLimit& operator=(const ScopedMessageLimit&) = delete;

 private:
  Index before_;
};

}  // namespace shardline
