#pragma once

#include <string>

namespace shardline {

/// The value of an arithmetic expression of numbers: + - * / ^ (right to left, highest precedence),
/// parentheses, and sqrt, log2, round, ceil, floor, max, min. Throws std::runtime_error with the place of a
/// syntax error.
double evaluate(const std::string& expression);

}  // namespace shardline
