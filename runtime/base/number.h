#pragma once

#include <optional>
#include <string_view>

namespace shardline {

/// The number that all of `text` writes in decimal digits: "0100" is 100. A '-' may come first where `Integer`, Index,
/// int or std::uint64_t, has negative numbers. Nothing for any other text, such as "0x40", "1e3", "+1", " 1", and for a
/// number that `Integer` cannot hold.
template <class Integer>
std::optional<Integer> whole_number(std::string_view text);

/// The finite number that all of `text` writes in decimal digits, perhaps with '-', a point and an exponent: "-0.5",
/// "3e-3". Nothing for any other text, such as "0x1p3", "nan", "inf", "+1", and for a number too large or too small.
std::optional<double> decimal_number(std::string_view text);

}  // namespace shardline
