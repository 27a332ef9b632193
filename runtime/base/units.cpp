#include "runtime/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace shardline {
namespace {

std::string scaled(double value, const char* unit) {
  static constexpr std::array kPrefixes = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kNone = 3;
  if (value == 0) return fmt::format("0 {}", unit);
  if (!std::isfinite(value)) return fmt::format("{} {}", value, unit);
  // 999.5 of a unit prints as 1.00 of the next unit.
  int step = static_cast<int>(std::floor(std::log10(std::abs(value) * (1000 / 999.5)) / 3));
  step = std::min(std::max(step, -kNone), static_cast<int>(kPrefixes.size()) - 1 - kNone);
  const double shown = value / std::pow(1000.0, step);
  const int decimals = std::abs(shown) >= 99.95 ? 0 : std::abs(shown) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", shown, decimals, kPrefixes.at(static_cast<std::size_t>(step + kNone)), unit);
}

/// A count below 1000 has no decimals: 12 B, but 1.50 kB.
std::string counted(double value, const char* unit) {
  return std::abs(value) < 999.5 ? fmt::format("{:.0f} {}", value, unit) : scaled(value, unit);
}

}  // namespace

std::string to_string(Seconds t) { return scaled(t.value, "s"); }
std::string to_string(Bytes b) { return counted(b.value, "B"); }
std::string to_string(Flops f) { return counted(f.value, "FLOP"); }
std::string to_string(BytesPerSecond rate) { return scaled(rate.value, "B/s"); }
std::string to_string(FlopsPerSecond rate) { return scaled(rate.value, "FLOP/s"); }

}  // namespace shardline
