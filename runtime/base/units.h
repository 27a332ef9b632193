#pragma once

#include <compare>
#include <string>

namespace shardline {

/// A physical quantity: a double that does not mix with other quantities. Units are decimal: 1 GB =
/// 1e9 B.
template <class Tag>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double s) { return Quantity(a.value * s); }
  friend constexpr Quantity operator*(double s, Quantity a) { return Quantity(a.value * s); }
  friend constexpr Quantity operator/(Quantity a, double s) { return Quantity(a.value / s); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
};

using Seconds = Quantity<struct SecondsTag>;
using Bytes = Quantity<struct BytesTag>;
using Flops = Quantity<struct FlopsTag>;  ///< a count of floating-point operations
using BytesPerSecond = Quantity<struct BytesPerSecondTag>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag>;

constexpr Seconds operator/(Bytes b, BytesPerSecond rate) { return Seconds(b.value / rate.value); }
constexpr Seconds operator/(Flops f, FlopsPerSecond rate) { return Seconds(f.value / rate.value); }
constexpr BytesPerSecond operator/(Bytes b, Seconds t) { return BytesPerSecond(b.value / t.value); }
constexpr FlopsPerSecond operator/(Flops f, Seconds t) { return FlopsPerSecond(f.value / t.value); }

/// Three significant digits with a decimal prefix: "1.50 ms", "12.0 MB", "98.1 GFLOP/s".
std::string to_string(Seconds t);
std::string to_string(Bytes b);
std::string to_string(Flops f);
std::string to_string(BytesPerSecond rate);
std::string to_string(FlopsPerSecond rate);

}  // namespace shardline
