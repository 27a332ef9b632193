#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardline {

/// Without white space at either end.
std::string trimmed(const std::string& text);

/// The parts of `text` between separators, trimmed; one empty part for an empty text.
std::vector<std::string> split(const std::string& text, char separator);

/// What stands before the first separator, and what stands after it; both trimmed. Without a separator, all and
/// nothing.
std::pair<std::string, std::optional<std::string>> cut_once(const std::string& text, char separator);

/// One item of a list such as "X=2, Y=4".
struct NamedValue {
  std::string item;  ///< all of it: "X=2"
  std::string name;  ///< what stands before the first "=", or all
  std::optional<std::string> value;
};

/// The items of `text` between commas, name and value trimmed.
std::vector<NamedValue> named_values(const std::string& text);

}  // namespace shardline
