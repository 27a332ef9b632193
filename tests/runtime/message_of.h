#pragma once

#include <functional>
#include <string>

#include "runtime/base/check.h"

namespace shardline {

/// The message of the UsageError that `body` throws; "nothing was refused" if it throws none.
inline std::string usage_message(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace shardline
