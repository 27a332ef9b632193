#include "tools/options/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace shardline::tools {
namespace {

/// Added after a value that ends with ']', so CLI11 does not change it. It is the unit separator,
/// which nobody types.
constexpr char kMark = '\x1f';

/// Makes every option of the application and its subcommands remove the marks from its values.
void add_unmarking(CLI::App& app) {
  const auto unmark = [](std::string& value) {
    value = as_typed(value);
    return std::string();
  };
  for (CLI::Option* option : app.get_options()) option->transform(CLI::Validator(unmark, ""));
  for (CLI::App* command : app.get_subcommands(nullptr)) add_unmarking(*command);
}

/// True for "--json=".
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
  std::reverse(marked.begin(), marked.end());  // the order that CLI11 needs
  app.parse(std::move(marked));
}

std::string as_typed(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), kMark), text.end());
  return text;
}

}  // namespace shardline::tools
