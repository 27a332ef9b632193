#include "models/architecture/strict_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "runtime/base/check.h"

namespace shardline {

using Json = nlohmann::json;

Json parse_object(std::string_view text, const std::string& path, std::string_view what, int deepest) {
  std::map<int, std::set<std::string>> keys;  // by depth: the keys so far of the object at that depth
  std::optional<std::string> repeated;
  bool too_deep = false;
  const auto look = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys[depth + 1].clear();
    if (event == Json::parse_event_t::key && !keys[depth].insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    too_deep |= depth > deepest;
    return depth <= deepest;
  };
  Json object;
  try {
    object = Json::parse(text, look);
  } catch (const Json::exception& error) {
    usage_error("{}: {} is not JSON: {}", path, what, error.what());
  }
  require(object.is_object(), "{}: {} must be a JSON object, this is {}", path, what, object.type_name());
  require(!too_deep, "{}: {} is nested deeper than {} levels", path, what, deepest);
  require(!repeated, "{}: {} has {} twice", path, what, shown(repeated.value_or("")));
  return object;
}

std::string shown(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace shardline
