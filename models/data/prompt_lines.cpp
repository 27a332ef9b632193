#include "models/data/prompt_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

constexpr int kDeepestLine = 8;  // a value that is wrongly an object is named, unless it is deeper
constexpr const char* kLegalKeys = R"(a line has the keys "prompt" and "answer" (or "completion"), both with strings)";

/// A line of a file, for messages.
struct LinePlace {
  const std::string& path;
  std::string name;  ///< "line 3"
};

std::string text_at(const nlohmann::json& object, const std::string& key, const LinePlace& place) {
  const nlohmann::json& value = object.at(key);
  require(value.is_string(), "{}: {}: \"{}\" must be a string, this is {}", place.path, place.name, key,
          value.type_name());
  return value.get<std::string>();
}

PromptLine parse_line(std::string_view line, const LinePlace& place) {
  const nlohmann::json object = parse_object(line, place.path, place.name, kDeepestLine);
  const bool completes = object.contains("completion");
  for (const auto& [key, value] : object.items()) {
    require(key == "prompt" || key == "answer" || key == "completion", "{}: {}: unknown key {}; {}", place.path,
            place.name, shown(key), kLegalKeys);
  }
  require(!completes || !object.contains("answer"), "{}: {}: \"answer\" and \"completion\" are two names for one key",
          place.path, place.name);
  require(object.contains("prompt"), "{}: {}: no key \"prompt\"; {}", place.path, place.name, kLegalKeys);
  require(completes || object.contains("answer"), "{}: {}: no key \"answer\"; {}", place.path, place.name, kLegalKeys);
  return {text_at(object, "prompt", place), text_at(object, completes ? "completion" : "answer", place)};
}

}  // namespace

void for_each_prompt_line(std::string_view text, const std::string& path,
                          const std::function<void(const PromptLine& line)>& take) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    take(parse_line(line, {path, fmt::format("line {}", number)}));
  }
}

}  // namespace shardline
