#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// "a", "a and b", "a, b and c", with `last` between the last two.
std::string listed(const std::vector<std::string>& words, const std::string& last = "and");

/// The parts of `text` between commas, without the blanks around them; one empty part for an empty text.
std::vector<std::string> comma_parts(const std::string& text);

}  // namespace shardline::tools
