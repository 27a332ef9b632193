#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardline {

/// The text without white space at both ends.
std::string trimmed(const std::string& text);

/// The parts of `text` between separators, trimmed. An empty text has one empty part.
std::vector<std::string> split(const std::string& text, char separator);

/// The text before the first separator and the text after it, both trimmed. Without a separator:
/// all of the text, and nothing.
std::pair<std::string, std::optional<std::string>> cut_once(const std::string& text, char separator);

/// One item of a list such as "X=2, Y=4".
struct NamedValue {
  std::string item;  ///< all of it: "X=2"
  std::string name;  ///< text before the first "=", or all of the item
  std::optional<std::string> value;
};

/// The items of `text` between commas, name and value trimmed.
std::vector<NamedValue> named_values(const std::string& text);

}  // namespace shardline
