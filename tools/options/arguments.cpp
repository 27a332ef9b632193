#include "tools/options/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace shardline::tools {
namespace {

/// Stands behind a value that ends with ']', which CLI11 then leaves alone. Nobody types it: it is the unit separator.
constexpr char kMark = '\x1f';

/// Every option of the application and its subcommands reads its values without marks.
void add_unmarking(CLI::App& app) {
  const auto unmark = [](std::string& value) {
    value = as_typed(value);
    return std::string();
  };
  for (CLI::Option* option : app.get_options()) option->transform(CLI::Validator(unmark, ""));
  for (CLI::App* command : app.get_subcommands(nullptr)) add_unmarking(*command);
}

/// True of "--json=".
bool has_empty_value(const std::string& argument) {
  return argument.starts_with("--") && argument.find('=') == argument.size() - 1;
}

}  // namespace

void parse_as_typed(CLI::App& app, const std::vector<std::string>& arguments) {
  add_unmarking(app);
  std::vector<std::string> marked;
  for (const std::string& argument : arguments) {
    if (has_empty_value(argument)) {
      marked.push_back(argument.substr(0, argument.size() - 1));
      marked.emplace_back();
    } else {
      marked.push_back(argument.ends_with(']') ? argument + kMark : argument);
    }
  }
  std::reverse(marked.begin(), marked.end());  // as CLI11 wants them
  app.parse(std::move(marked));
}

std::string as_typed(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), kMark), text.end());
  return text;
}

}  // namespace shardline::tools
