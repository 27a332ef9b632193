#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/base/check.h"
#include "runtime/base/dtype.h"

namespace shardline {

/// Calls body with a value of the C++ type of `dtype`, and returns its result. Throws Error for
/// int8.
template <class Body>
auto with_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::f32:
      return body(float{});
    case DType::f64:
      return body(double{});
    case DType::bf16:
      return body(BFloat16{});
    case DType::i32:
      return body(std::int32_t{});
    case DType::i64:
      return body(std::int64_t{});
    case DType::int8:
      break;
  }
  throw Error("nothing is computed in int8");
}

/// `value` as an element of type T. bf16 is rounded through f32.
template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace shardline
