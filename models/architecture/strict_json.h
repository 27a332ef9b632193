#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace shardline {

/// Parses a text that must be one JSON object, as a file of others' making: `path` and `what` ("the header") say in
/// messages what it is. Throws UsageError, one line, for text that is not JSON, for another value, for a key that
/// stands twice in one object (parsers commonly take the last in silence) and for nesting deeper than `deepest`.
nlohmann::json parse_object(std::string_view text, const std::string& path, std::string_view what, int deepest);

/// A value in a message: as JSON, on one line.
std::string shown(const nlohmann::json& value);

}  // namespace shardline
