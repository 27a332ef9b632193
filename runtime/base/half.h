#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace shardline {

/// The value of an IEEE f16 (1 sign, 5 exponent and 10 fraction bits), exactly. NaN and infinity stay what they are.
/// No array holds f16: files may, and are converted when they are read.
inline float from_half(std::uint16_t bits) {
  constexpr std::uint32_t kExponent = 0x1FU << 23U;      // of f16, at its place in f32
  constexpr std::uint32_t kShift = (127U - 15U) << 23U;  // from the bias of f16 to that of f32
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t magnitude = (bits & 0x7FFFU) << 13U;
  const std::uint32_t exponent = magnitude & kExponent;
  if (exponent == 0) {  // zero and subnormal numbers: the fraction counts in units of 2^-24
    constexpr float kUnit = 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(bits & 0x3FFU) * kUnit) | sign);
  }
  const std::uint32_t largest = exponent == kExponent ? kShift : 0;  // infinity and NaN have the largest exponent
  return std::bit_cast<float>((magnitude + kShift + largest) | sign);
}

/// The nearest f16, ties to even. Magnitudes from 65520 on become infinity. NaN stays NaN.
inline std::uint16_t to_half(float value) {
  constexpr std::uint32_t kInfinity = 0x7C00U;
  constexpr std::uint32_t kInfinityF32 = 0x7F800000U;
  constexpr std::uint32_t kSmallestNormal = (127U - 14U) << 23U;  // 2^-14 as f32
  constexpr std::uint32_t kShift = (127U - 15U) << 23U;           // from the bias of f32 to that of f16
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = word >> 16U & 0x8000U;
  const std::uint32_t magnitude = word & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude >= kInfinityF32) {
    half = kInfinity | (magnitude > kInfinityF32 ? 0x200U : 0U);
  } else if (magnitude < kSmallestNormal) {
    // In [0.5, 1) f32 counts in units of 2^-24, as subnormal f16 do. So the sum is rounded to them.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    half = std::min((magnitude - kShift + 0xFFFU + (magnitude >> 13U & 1U)) >> 13U, kInfinity);
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace shardline
