#pragma once

#include <string>

namespace shardline::tools {

/// "0.1.0"
std::string version();

/// The git commit of the sources at build time, with "-dirty" if they differed. "unknown" outside a
/// git repository.
std::string commit();

}  // namespace shardline::tools
