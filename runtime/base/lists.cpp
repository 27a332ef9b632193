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

std::vector<NamedValue> named_values(const std::string& text) {
  std::vector<NamedValue> values;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    NamedValue each{.item = part, .name = trimmed(part.substr(0, equals)), .value = {}};
    if (equals != std::string::npos) each.value = trimmed(part.substr(equals + 1));
    values.push_back(std::move(each));
  }
  return values;
}

}  // namespace shardline
