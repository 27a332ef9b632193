#pragma once

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

}  // namespace shardline
