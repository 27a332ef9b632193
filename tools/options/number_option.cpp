#include "tools/options/number_option.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>

#include "runtime/base/number.h"

namespace shardline::tools {
namespace {

template <class Value>
struct Held {
  using Number = Value;
};

template <class Value>
struct Held<std::optional<Value>> {
  using Number = Value;
};

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& legal) {
  throw CLI::ValidationError(fmt::format("{} {}: {}", option, text, legal), CLI::ExitCodes::ValidationError);
}

template <class Number>
std::string default_text(const std::optional<Number>&) {
  return "";
}
template <class Number>
std::string default_text(const Number& number) {
  return fmt::format("{}", number);
}

/// Adds an option. `read` turns its text into a number, or refuses it.
template <class Value, class Read>
CLI::Option* add_number(CLI::App& command, const std::string& name, const std::string& help, Value& value, Read read) {
  const auto take = [&value, read](const CLI::results_t& given) {
    value = read(given.at(0));
    return true;
  };
  return command.add_option(name, take, help, true, [&value] { return default_text(value); });
}

}  // namespace

template <class Value>
CLI::Option* add_whole_option(CLI::App& command, const WholeOption& option, Value& value) {
  using Number = typename Held<Value>::Number;
  const auto limit = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  const std::uint64_t most = std::min(option.most, limit);
  const std::string legal = most == limit && limit < std::numeric_limits<std::uint64_t>::max()
                                ? fmt::format("a whole number of at least {}", option.least)
                                : fmt::format("a whole number from {} to {}", option.least, most);
  const auto read = [option, most, legal](const std::string& text) {
    const std::optional<std::uint64_t> number = whole_number<std::uint64_t>(text);
    if (!number || *number < option.least || *number > most) refuse(option.name, text, legal);
    return static_cast<Number>(*number);
  };
  return add_number(command, option.name, option.help, value, read)->type_name("INT");
}

template CLI::Option* add_whole_option(CLI::App&, const WholeOption&, Index&);
template CLI::Option* add_whole_option(CLI::App&, const WholeOption&, int&);
template CLI::Option* add_whole_option(CLI::App&, const WholeOption&, std::uint64_t&);
template CLI::Option* add_whole_option(CLI::App&, const WholeOption&, std::optional<Index>&);
template CLI::Option* add_whole_option(CLI::App&, const WholeOption&, std::optional<int>&);

template <class Value>
CLI::Option* add_decimal_option(CLI::App& command, const DecimalOption& option, Value& value) {
  const bool open = option.most == std::numeric_limits<double>::max();
  const std::string most = open ? "" : fmt::format(", {} {}", option.below ? "below" : "at most", option.most);
  const std::string legal = option.positive        ? "a positive number" + most
                            : open || option.below ? fmt::format("a number of at least {}", option.least) + most
                                                   : fmt::format("a number from {} to {}", option.least, option.most);
  const auto read = [option, legal](const std::string& text) {
    const std::optional<double> number = decimal_number(text);
    const bool legal_zero = !option.positive || number != 0;
    const bool too_large = number > option.most || (option.below && number == option.most);
    if (!number || *number < option.least || too_large || !legal_zero) refuse(option.name, text, legal);
    return *number;
  };
  return add_number(command, option.name, option.help, value, read)->type_name("FLOAT");
}

template CLI::Option* add_decimal_option(CLI::App&, const DecimalOption&, double&);
template CLI::Option* add_decimal_option(CLI::App&, const DecimalOption&, std::optional<double>&);

}  // namespace shardline::tools
