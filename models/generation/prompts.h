#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// The prompts of a text file that has one a line. A line ends with a newline, or a carriage return and a newline; the
/// last may end with the file. Nothing in a line has another meaning: a backslash is a backslash. Throws UsageError,
/// one line with `path`, if there is no line, or one is empty (with its number).
std::vector<std::string> parse_prompts(std::string_view text, const std::string& path);

}  // namespace shardline
