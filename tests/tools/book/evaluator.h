#pragma once

#include <string>

namespace shardline {

/// The value of an arithmetic expression of numbers: + - * / ^ (right to left, before all), parentheses, and sqrt,
/// log2, round, ceil, floor, max, min. Throws std::runtime_error with the place of what it does not understand.
double evaluate(const std::string& expression);

}  // namespace shardline
