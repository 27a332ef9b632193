#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

/// An exponential that the compiler vectorises: no table, no branch, no call. Only kernel sources include this header.
namespace shardline::kernels {

/// Constants of `vector_exp`. ln 2 in two parts; the first has so few bits that its multiples are
/// exact. The limits of normal results. exp(r) = 1 + r + r^2 (the polynomial, highest power first)
/// for |r| <= ln(2) / 2.
template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr float kRound = 12582912.0F;  ///< 1.5 2^23: adding it leaves the rounded integer in the low bits
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  static constexpr float kSmallest = -87.3365447F, kLargest = 88.7228390F;
  static constexpr float kPolynomial[] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                                          4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};
};

template <>
struct ExpConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr double kRound = 6755399441055744.0;  ///< 1.5 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kSmallest = -708.396418532264106, kLargest = 709.782712893383973;
  static constexpr double kPolynomial[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800,
                                           1.0 / 362880,     1.0 / 40320,     1.0 / 5040,     1.0 / 720,
                                           1.0 / 120,        1.0 / 24,        1.0 / 6,        0.5};
};

/// exp(x) within 2 units in the last place. 0 if the result would not be a normal number, infinity
/// if it is too large, NaN for NaN. x = n ln 2 + r; n is added to the exponent of exp(r).
template <class T>
[[gnu::always_inline]] inline T vector_exp(T x) {
  using C = ExpConstants<T>;
  using Bits = typename C::Bits;
  const T rounded = x * T(1.4426950408889634074) + C::kRound;
  const T n = rounded - C::kRound;
  const T r = (x - n * C::kLn2High) - n * C::kLn2Low;
  T polynomial = 0;
  for (const T coefficient : C::kPolynomial) polynomial = polynomial * r + coefficient;
  const T fraction = polynomial * (r * r) + r + T(1);
  const T value = std::bit_cast<T>(std::bit_cast<Bits>(fraction) + (std::bit_cast<Bits>(rounded) << C::kMantissaBits));
  const T bounded = x < C::kSmallest ? T(0) : value;
  return x > C::kLargest ? std::numeric_limits<T>::infinity() : bounded;
}

}  // namespace shardline::kernels
