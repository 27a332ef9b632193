#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace shardline::tools {

/// Parses the arguments of a process, without its name, so that each value stays as typed. CLI11
/// alone makes the list x, y from "[x,y]", and takes the next argument as the value of "--json=".
/// Throws as CLI::App::parse() does. Texts of errors and of left-over arguments must go through
/// as_typed().
void parse_as_typed(CLI::App& app, const std::vector<std::string>& arguments);

/// Restores typed arguments in a text from parse_as_typed().
std::string as_typed(std::string text);

}  // namespace shardline::tools
