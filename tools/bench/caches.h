#pragma once

#include <string>

#include "runtime/base/units.h"

namespace shardline::tools {

/// The size of the last-level cache, from files such as `folder`/index3/level and size. 64 MiB if
/// they do not tell.
Bytes last_level_cache(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace shardline::tools
