#include "kernels/reduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// Elements combined at a time: this many partial results stay in the L1 cache.
constexpr Index kTile = 1024;

template <bool maximum, class T>
T pair(T a, T b) {
  if constexpr (!maximum) {
    return a + b;
  } else if constexpr (std::is_integral_v<T>) {
    return std::max(a, b);
  } else {
    return a > b || std::isnan(a) ? a : b;  // a NaN on the right fails the comparison
  }
}

// In the loops below `into` may equal a source, element for element. This is no dependence
// between iterations.

template <class Sum, class From>
void load(const From* from, Sum* sum, Index count) {
  for (Index i = 0; i < count; ++i) sum[i] = static_cast<Sum>(from[i]);
}

template <bool maximum, class Sum, class From>
void fold(const From* from, Sum* sum, Index count) {
  for (Index i = 0; i < count; ++i) sum[i] = pair<maximum>(sum[i], static_cast<Sum>(from[i]));
}

template <class Sum, class Into>
void store(const Sum* sum, Into* into, Index count) {
  for (Index i = 0; i < count; ++i) into[i] = static_cast<Into>(sum[i]);
}

template <bool maximum, class T>
void combine_two(const T* a, const T* b, T* into, Index count) {
#pragma GCC ivdep
  for (Index i = 0; i < count; ++i) into[i] = pair<maximum>(a[i], b[i]);
}

/// Calls body with `data` as a pointer to elements of `dtype`: Sum, or also bf16 if Sum is f32.
template <class Sum, class Pointer, class Body>
void with_elements(DType dtype, Pointer* data, Body body) {
  using Byte = std::conditional_t<std::is_const_v<Pointer>, const void, void>;
  Byte* elements = data;
  if constexpr (std::is_same_v<Sum, float>) {
    using Narrow = std::conditional_t<std::is_const_v<Pointer>, const BFloat16, BFloat16>;
    if (dtype == DType::bf16) return body(static_cast<Narrow*>(elements));
  }
  using Same = std::conditional_t<std::is_const_v<Pointer>, const Sum, Sum>;
  SHARDLINE_CHECK(dtype == kDTypeOf<Sum>, "an array of {} combined with arrays of {}", name_of(dtype),
                  name_of(kDTypeOf<Sum>));
  body(static_cast<Same*>(elements));
}

template <bool maximum, class Sum>
void combine_tile(std::span<const Source> from, const Target& into, Range range, Index divisor) {
  std::array<Sum, kTile> sum;
  const Index count = range.size();
  for (std::size_t k = 0; k < from.size(); ++k) {
    with_elements<Sum>(from[k].dtype, from[k].data, [&](const auto* elements) {
      if (k == 0) {
        load(elements + range.begin, sum.data(), count);
      } else {
        fold<maximum>(elements + range.begin, sum.data(), count);
      }
    });
  }
  if constexpr (std::is_floating_point_v<Sum>) {
    if (divisor != 1) {
      for (Index i = 0; i < count; ++i) sum[static_cast<std::size_t>(i)] /= static_cast<Sum>(divisor);
    }
  }
  with_elements<Sum>(into.dtype, into.data, [&](auto* elements) { store(sum.data(), elements + range.begin, count); });
}

template <bool maximum, class Sum>
void combine_all(std::span<const Source> from, const Target& into, Index count, Index divisor) {
  const auto is_plain = [](DType dtype) { return dtype == kDTypeOf<Sum>; };
  if (from.size() == 2 && divisor == 1 && is_plain(from[0].dtype) && is_plain(from[1].dtype) && is_plain(into.dtype)) {
    combine_two<maximum>(static_cast<const Sum*>(from[0].data), static_cast<const Sum*>(from[1].data),
                         static_cast<Sum*>(into.data), count);
    return;
  }
  for (Index begin = 0; begin < count; begin += kTile) {
    combine_tile<maximum, Sum>(from, into, {begin, std::min(begin + kTile, count)}, divisor);
  }
}

template <class Sum>
void combine_as(ReduceOp op, std::span<const Source> from, const Target& into, Index count, Index divisor) {
  if (op == ReduceOp::max) {
    combine_all<true, Sum>(from, into, count, divisor);
  } else {
    combine_all<false, Sum>(from, into, count, divisor);
  }
}

}  // namespace

void combine(ReduceOp op, std::span<const Source> from, const Target& into, Index count, Index divisor) {
  SHARDLINE_CHECK(count >= 0 && divisor >= 1 && !from.empty(), "combination of {} arrays of {} elements, divided by {}",
                  from.size(), count, divisor);
  SHARDLINE_CHECK(!is_integer(into.dtype) || divisor == 1, "an average of {}; averages are of floats",
                  name_of(into.dtype));
  switch (into.dtype) {
    case DType::f32:
    case DType::bf16:
      return combine_as<float>(op, from, into, count, divisor);
    case DType::f64:
      return combine_as<double>(op, from, into, count, divisor);
    case DType::i32:
      return combine_as<std::int32_t>(op, from, into, count, divisor);
    case DType::i64:
      return combine_as<std::int64_t>(op, from, into, count, divisor);
    case DType::int8:
      break;
  }
  throw Error("nothing is computed in int8");
}

Cost combine_cost(Index sources, Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(elements * static_cast<double>(sources - 1)),
          Bytes(elements * static_cast<double>((sources + 1) * element_size))};
}

}  // namespace shardline::kernels
