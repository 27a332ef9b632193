#pragma once

#include "runtime/base/check.h"

namespace shardline {

/// The result of a command is wrong, not finite, or cannot be written. The message is one line, the
/// exit code is 1. If the ranks agree on the error, all of them throw it.
class ResultError : public Error {
 public:
  using Error::Error;
};

}  // namespace shardline
