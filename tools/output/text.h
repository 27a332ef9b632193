#pragma once

#include <string>
#include <vector>

namespace shardline::tools {

/// "a", "a and b", "a, b and c", with `last` between the last two.
std::string listed(const std::vector<std::string>& words, const std::string& last = "and");

/// `text` with a capital at its beginning and a full stop at its end.
std::string sentence(std::string text);

/// The number without an exponent: "262144" when it is whole or at least 10000, otherwise with five digits, "1048.6";
/// below 0.0001 with nine decimal places.
std::string plain_number(double number);

}  // namespace shardline::tools
