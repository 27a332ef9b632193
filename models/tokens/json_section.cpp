#include "models/tokens/json_section.h"

#include <algorithm>
#include <utility>

#include "models/architecture/strict_json.h"
#include "runtime/base/check.h"

namespace shardline {

using Json = nlohmann::json;

JsonSection::JsonSection(const Json& object, std::string path, std::string name)
    : object_(object), path_(std::move(path)), name_(std::move(name)) {
  if (!object.is_object()) fail(fmt::format("must be an object, this is {}", object.type_name()));
}

void JsonSection::fail(const std::string& problem) const {
  usage_error("{}: {}{}{}", path_, name_, name_.empty() ? "" : ": ", problem);
}

void JsonSection::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(fmt::format("the key {} is not implemented", shown(key)));
    }
  }
}

bool JsonSection::has(std::string_view key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json& JsonSection::value(std::string_view key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) fail(fmt::format("\"{}\" is missing", key));
  return *found;
}

std::string JsonSection::text(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_string()) fail(fmt::format("\"{}\" must be a string, this is {}", key, found.type_name()));
  return found.get<std::string>();
}

std::int32_t JsonSection::id(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_number_unsigned() || found.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostTokenId)) {
    fail(fmt::format("{} must be an integer from 0 to {}, this is {}", shown(std::string(key)), kMostTokenId,
                     shown(found)));
  }
  return found.get<std::int32_t>();
}

bool JsonSection::flag(std::string_view key) const {
  const Json& found = value(key);
  if (!found.is_boolean()) fail(fmt::format("\"{}\" must be true or false, this is {}", key, shown(found)));
  return found.get<bool>();
}

JsonSection JsonSection::section(std::string_view key) const {
  return {value(key), path_, name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key)};
}

std::vector<JsonSection> JsonSection::sections(std::string_view key) const {
  const Json& list = value(key);
  if (!list.is_array()) fail(fmt::format("\"{}\" must be a list, this is {}", key, list.type_name()));
  std::vector<JsonSection> result;
  for (std::size_t i = 0; i < list.size(); ++i) {
    result.emplace_back(list[i], path_, fmt::format("{}[{}]", key, i));
  }
  return result;
}

}  // namespace shardline
