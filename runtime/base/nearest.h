#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// Of `names`, those that `text` was most likely meant to be: fewest letters added, dropped and changed first, at most
/// three.
std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& names);

}  // namespace shardline
