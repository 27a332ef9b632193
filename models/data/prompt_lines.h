#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace shardline {

/// A prompt, and what should follow it. Both are UTF-8 and may be empty.
struct PromptLine {
  std::string prompt;
  std::string answer;
};

/// Reads the text of a file that has one JSON object a line: {"prompt": "2 + 3 =", "answer": " 5"}, and gives them to
/// `take` one by one, since all together need several times the memory of the text. "completion", the
/// name that other tools use, may stand for "answer". Blank lines are skipped; a line may end with a carriage return.
/// Throws UsageError, one line with `path`, the number of the line and what is legal, if a line is no JSON object, a
/// key is missing, there twice or unknown, or a value is no string.
void for_each_prompt_line(std::string_view text, const std::string& path,
                          const std::function<void(const PromptLine& line)>& take);

}  // namespace shardline
