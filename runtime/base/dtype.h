#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "runtime/base/shape.h"

namespace shardline {

/// Element types. bf16 is for storage: arithmetic on it uses f32. int8 has a price only: no array
/// holds it.
enum class DType : std::uint8_t { f32, f64, bf16, i32, i64, int8 };

/// True for the types that hold whole numbers only.
inline bool is_integer(DType dtype) { return dtype == DType::i32 || dtype == DType::i64 || dtype == DType::int8; }

/// Bytes of one element.
Index size_of(DType dtype);

/// The type in which elements of this type are computed and added up: f32 for bf16, else the type itself.
inline DType sum_type(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

/// "f32", "f64", "bf16", "i32", "i64", "int8"
std::string_view name_of(DType dtype);

/// The upper half of an IEEE f32. Conversion rounds to nearest, ties to even. NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    // Integers without a branch, so that compilers vectorise loops over it.
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U;
    const std::uint32_t quiet = (word >> 16U) | 0x40U;
    const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<std::uint16_t>(is_nan ? quiet : rounded);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
  bool operator==(const BFloat16&) const = default;
};

/// sum_type() of a C++ element type: SumOf<BFloat16> is float.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

/// DType of a C++ element type: kDTypeOf<float> == DType::f32.
template <class T>
inline constexpr DType kDTypeOf = DType::f32;
template <>
inline constexpr DType kDTypeOf<double> = DType::f64;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::bf16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::i32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::i64;

}  // namespace shardline
