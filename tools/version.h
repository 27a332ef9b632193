#pragma once

#include <string>

namespace shardline::tools {

/// "0.1.0"
std::string version();

/// The git commit of the sources at the time of the build, with "-dirty" when they differed from it; "unknown" outside
/// a git repository.
std::string commit();

}  // namespace shardline::tools
