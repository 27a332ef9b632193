#include "runtime/base/number.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "runtime/base/shape.h"

namespace shardline {
namespace {

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number number{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

template <class Integer>
std::optional<Integer> whole_number(std::string_view text) {
  return whole_text<Integer>(text);
}

template std::optional<int> whole_number(std::string_view text);
template std::optional<Index> whole_number(std::string_view text);
template std::optional<std::uint64_t> whole_number(std::string_view text);

std::optional<double> decimal_number(std::string_view text) {
  const std::optional<double> number = whole_text<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

}  // namespace shardline
