#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/base/shape.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace shardline::tools {

/// An option that takes a whole number.
struct WholeOption {
  std::string name;  ///< "--steps"
  std::string help;
  std::uint64_t least = 1;
  std::uint64_t most = std::numeric_limits<Index>::max();
};

/// Adds the option. It reads decimal digits: 0100 is 100. 0x40, 1e3 and numbers out of range end
/// the parsing with "--steps 0x40: a whole number of at least 1". `Value` is Index, int,
/// std::uint64_t or the std::optional of Index or int. `value` must outlive the parsing. The help
/// shows its value now as the default.
template <class Value>
CLI::Option* add_whole_option(CLI::App& command, const WholeOption& option, Value& value);

/// An option with a number that may have a point or an exponent.
struct DecimalOption {
  std::string name;  ///< "--lr"
  std::string help;
  double least = 0;
  bool positive = false;  ///< 0 is refused
  double most = std::numeric_limits<double>::max();
  bool below = false;  ///< `most` is refused too
};

/// Adds the option as add_whole_option() does. Infinity and "nan" are refused. `Value` is double or its std::optional.
template <class Value>
CLI::Option* add_decimal_option(CLI::App& command, const DecimalOption& option, Value& value);

}  // namespace shardline::tools
