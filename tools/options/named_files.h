#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardline::tools {

/// Collective over all ranks; rank 0 looks. The files that the items of an option name; an item may be a pattern.
/// Throws UsageError if no file matches.
std::vector<std::string> files_named(const std::string& option, const std::vector<std::string>& items);

/// Collective over all ranks: the files that `find` finds on rank 0. No name has a newline.
std::vector<std::string> files_on_root(const std::function<std::vector<std::string>()>& find);

}  // namespace shardline::tools
