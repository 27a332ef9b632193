#include "kernels/reduce.h"

#include <cstdint>
#include <type_traits>

#include "runtime/base/check.h"

namespace shardline::kernels {
namespace {

/// A maximum keeps a NaN of either side: `a != a` finds one on the left, and against one on the right the comparison
/// fails.
template <ReduceOp op, class T>
T combine(T a, T b) {
  if constexpr (op == ReduceOp::sum) {
    return a + b;
  } else {
    return a > b || a != a ? a : b;
  }
}

template <ReduceOp op, class T>
void accumulate_typed(void* into_bytes, const void* from_bytes, Index count) {
  T* into = static_cast<T*>(into_bytes);
  const T* from = static_cast<const T*>(from_bytes);
  for (Index i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      into[i] = BFloat16(combine<op>(static_cast<float>(into[i]), static_cast<float>(from[i])));
    } else {
      into[i] = combine<op>(into[i], from[i]);
    }
  }
}

template <ReduceOp op>
void accumulate_with(DType dtype, void* into, const void* from, Index count) {
  switch (dtype) {
    case DType::f32:
      return accumulate_typed<op, float>(into, from, count);
    case DType::f64:
      return accumulate_typed<op, double>(into, from, count);
    case DType::bf16:
      return accumulate_typed<op, BFloat16>(into, from, count);
    case DType::i32:
      return accumulate_typed<op, std::int32_t>(into, from, count);
  }
}

}  // namespace

void accumulate(ReduceOp op, DType dtype, void* into, const void* from, Index count) {
  SHARDLINE_CHECK(count >= 0, "accumulate of {} elements", count);
  if (op == ReduceOp::sum) {
    accumulate_with<ReduceOp::sum>(dtype, into, from, count);
  } else {
    accumulate_with<ReduceOp::max>(dtype, into, from, count);
  }
}

Cost accumulate_cost(Index count, Index element_size) {
  const auto elements = static_cast<double>(count);
  return {Flops(elements), Bytes(3 * elements * static_cast<double>(element_size))};
}

}  // namespace shardline::kernels
