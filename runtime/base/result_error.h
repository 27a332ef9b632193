#pragma once

#include "runtime/base/check.h"

namespace shardline {

/// What a command made is wrong, not finite or cannot be written. The message is one line; a command ends with exit
/// code 1. Ranks that agree on it throw it all.
class ResultError : public Error {
 public:
  using Error::Error;
};

}  // namespace shardline
