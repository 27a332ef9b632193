#include "models/generation/prompts.h"

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {

std::vector<std::string> parse_prompts(std::string_view text, const std::string& path) {
  require(!text.empty(), "{}: the file is empty; it must have a prompt a line", path);
  std::vector<std::string> prompts;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (newline != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    require(!line.empty(), "{}: line {} is empty; a prompt has at least one byte", path, prompts.size() + 1);
    prompts.emplace_back(line);
  }
  return prompts;
}

}  // namespace shardline
