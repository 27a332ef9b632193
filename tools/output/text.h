#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// "a", "a and b", "a, b and c"; `last` stands between the last two.
std::string listed(const std::vector<std::string>& words, const std::string& last = "and");

/// `text` with a capital first letter and a full stop.
std::string sentence(std::string text);

/// The number without an exponent: "262144" if it is whole or at least 10000. Else five digits,
/// "1048.6". Below 0.0001: nine decimal places. Four digits and an exponent where it would be longer than fifteen
/// digits, or all zeros.
std::string plain_number(double number);

/// A count with three digits: "70.6 G". Below 1000 it is whole.
std::string short_count(double number);

}  // namespace shardline::tools
