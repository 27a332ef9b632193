#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardline {

/// A prompt, and what should follow it. Both are UTF-8 and may be empty.
struct PromptLine {
  std::string prompt;
  std::string answer;
};

/// Reads the text of a file that has one JSON object a line: {"prompt": "2 + 3 =", "answer": " 5"}. "completion", the
/// name that other tools use, may stand for "answer". Blank lines are skipped; a line may end with a carriage return.
/// Throws UsageError, one line with `path`, the number of the line and what is legal, if a line is no JSON object, a
/// key is missing, there twice or unknown, or a value is no string.
std::vector<PromptLine> prompt_lines(std::string_view text, const std::string& path);

}  // namespace shardline
