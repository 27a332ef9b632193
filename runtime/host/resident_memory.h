#pragma once

#include <string>

#include "runtime/base/units.h"

namespace shardline {

/// The memory of this process that lies in RAM: its own pages, and those that it shares with other processes in shared
/// memory. Pages of mapped files do not count, since the system can take them back. `status` is the content of
/// /proc/self/status. 0 if it has no such lines.
Bytes resident_memory(const std::string& status);

/// The same, of this process now.
Bytes resident_memory();

}  // namespace shardline
