#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace shardline {

/// Parses a text that must be one JSON object, from a file of unknown origin. Messages contain `path` and
/// `what` ("the header"). Throws UsageError, one line, for text that is not JSON, for another value, for a key
/// that an object has twice (most parsers silently take the last), and for nesting deeper than `deepest`.
nlohmann::json parse_object(std::string_view text, const std::string& path, std::string_view what, int deepest);

/// A value as JSON on one line, for messages.
std::string shown(const nlohmann::json& value);

}  // namespace shardline
