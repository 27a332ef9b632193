#pragma once

#include "program/ir/kernel.h"
#include "program/ir/program.h"
#include "runtime/base/view.h"

namespace shardline {

/// The arrays of a call, as views of elements of type T, or SumOf<T> for sums (see KernelTypes::stored).
template <class T>
class TypedCall {
 public:
  using Element = T;
  explicit TypedCall(const KernelArrays& arrays) : arrays_(arrays) {}

  View<const T> in(std::size_t k) const { return arrays_.operands[k]->view<T>(); }
  View<const std::int32_t> ids(std::size_t k) const { return arrays_.operands[k]->view<std::int32_t>(); }
  View<T> out(std::size_t k) const { return arrays_.results[k]->view<T>(); }
  View<const SumOf<T>> sum_in(std::size_t k) const { return arrays_.operands[k]->view<SumOf<T>>(); }
  View<SumOf<T>> sum_out(std::size_t k) const { return arrays_.results[k]->view<SumOf<T>>(); }
  /// The value of a scalar operand.
  double scalar(std::size_t k) const { return static_cast<double>(sum_in(k)[0]); }
  std::size_t operands() const { return arrays_.operands.size(); }

 private:
  const KernelArrays& arrays_;
};

/// Calls `body` with the call of a kernel of KernelTypes::same: double for f64, else float.
template <class Body>
void with_elements(const KernelArrays& arrays, Body body) {
  if (arrays.results[0]->dtype() == DType::f64) {
    body(TypedCall<double>(arrays));
  } else {
    body(TypedCall<float>(arrays));
  }
}

/// Calls `body` with the call of a kernel of KernelTypes::stored: in the type of its first operand.
template <class Body>
void with_stored(const KernelArrays& arrays, Body body) {
  if (arrays.operands[0]->dtype() == DType::bf16) {
    body(TypedCall<BFloat16>(arrays));
  } else {
    with_elements(arrays, body);
  }
}

}  // namespace shardline
