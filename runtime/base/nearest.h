#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// At most three of `names`: those nearest to `text`. The distance counts letters added, dropped
/// and changed.
std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& names);

}  // namespace shardline
