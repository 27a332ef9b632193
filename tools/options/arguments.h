#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardline::tools {

/// Parses the arguments of a process, without its name, so that each value is what was typed: CLI11 by itself makes the
/// list x, y of "[x,y]", and takes the next argument as the value of "--json=". Throws as CLI::App::parse() does, where
/// the texts of errors and of arguments that are left over are for as_typed().
void parse_as_typed(CLI::App& app, const std::vector<std::string>& arguments);

/// A text that tells of arguments of parse_as_typed(), as they were typed.
std::string as_typed(std::string text);

}  // namespace shardline::tools
