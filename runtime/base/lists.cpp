#include "runtime/base/lists.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace shardline {

std::string trimmed(const std::string& text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::find_if_not(text.begin(), text.end(), blank);
  const auto end = std::find_if_not(text.rbegin(), text.rend(), blank).base();
  return begin < end ? std::string(begin, end) : std::string();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

std::pair<std::string, std::optional<std::string>> cut_once(const std::string& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string::npos) return {trimmed(text), std::nullopt};
  return {trimmed(text.substr(0, at)), trimmed(text.substr(at + 1))};
}

std::vector<NamedValue> named_values(const std::string& text) {
  std::vector<NamedValue> values;
  for (const std::string& part : split(text, ',')) {
    auto [name, value] = cut_once(part, '=');
    values.push_back({.item = part, .name = std::move(name), .value = std::move(value)});
  }
  return values;
}

}  // namespace shardline
