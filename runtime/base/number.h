#pragma once

#include <optional>
#include <string_view>

namespace shardline {

/// The whole number in `text`, in decimal digits: "0100" is 100. A '-' may come first if `Integer`
/// (Index, int or std::uint64_t) is signed. Nothing for other text, such as "0x40", "1e3", "+1" or
/// " 1". Nothing if `Integer` cannot hold the number.
template <class Integer>
std::optional<Integer> whole_number(std::string_view text);

/// The finite number in `text`, in decimal digits. It may have a '-', a point and an exponent:
/// "-0.5", "3e-3". Nothing for other text, such as "0x1p3", "nan", "inf" or "+1". Nothing if the
/// number is too large or too small.
std::optional<double> decimal_number(std::string_view text);

}  // namespace shardline
