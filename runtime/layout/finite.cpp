#include "runtime/layout/finite.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace shardline {
namespace {

/// NaN and infinity have all exponent bits set. The test uses integers, so the compiler vectorises
/// the loop.
template <class Bits>
bool any_exponent_full(const std::byte* data, Index count, Bits exponent) {
  constexpr Index kBlock = 4096;
  for (Index begin = 0; begin < count; begin += kBlock) {
    const Index size = std::min(kBlock, count - begin);
    const std::byte* block = data + static_cast<std::size_t>(begin) * sizeof(Bits);
    Bits found = 0;
    for (Index i = 0; i < size; ++i) {
      Bits bits = 0;
      std::memcpy(&bits, block + static_cast<std::size_t>(i) * sizeof(Bits), sizeof bits);
      found = static_cast<Bits>(found | static_cast<Bits>((bits & exponent) == exponent ? 1 : 0));
    }
    if (found != 0) return true;
  }
  return false;
}

bool any_non_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32:
      return any_exponent_full<std::uint32_t>(tensor.data(), tensor.size(), 0x7f800000U);
    case DType::f64:
      return any_exponent_full<std::uint64_t>(tensor.data(), tensor.size(), 0x7ff0000000000000U);
    case DType::bf16:
      return any_exponent_full<std::uint16_t>(tensor.data(), tensor.size(), 0x7f80U);
    default:
      return false;
  }
}

}  // namespace

std::string_view non_finite(const Tensor& tensor) {
  if (!any_non_finite(tensor)) return "";
  const Tensor values = tensor.as(DType::f64);
  for (const double value : values.view<double>()) {
    if (std::isnan(value)) return "NaN";
  }
  return "infinity";
}

}  // namespace shardline
