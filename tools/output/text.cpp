#include "tools/output/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "runtime/base/units.h"

namespace shardline::tools {

std::string listed(const std::vector<std::string>& words, const std::string& last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " " + last + " " : ", ";
    text += words[i];
  }
  return text;
}

std::string sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (std::string(".!?").find(text.back()) == std::string::npos) text += '.';
  return text;
}

std::string plain_number(double number) {
  constexpr double kLongest = 1e15, kLeast = 1e-9;
  const double size = std::abs(number);
  if (size >= kLongest || (size > 0 && size < kLeast)) return fmt::format("{:.4g}", number);
  constexpr double kFiveDigits = 1e4;
  const bool whole = number == std::floor(number) || size >= kFiveDigits;
  if (whole) return fmt::format("{:.0f}", number);
  constexpr double kFirstWithExponent = 1e-4;
  return size < kFirstWithExponent ? fmt::format("{:.9f}", number) : fmt::format("{:.5g}", number);
}

std::string short_count(double number) {
  constexpr double kFirstPrefix = 1000;
  if (number < kFirstPrefix) return fmt::format("{:.0f}", number);
  const std::string text = to_string(Flops(number));  // "70.6 GFLOP"
  return text.substr(0, text.size() - std::string_view("FLOP").size());
}

}  // namespace shardline::tools
