#include "program/ops/einsum_call.h"

namespace shardline {
namespace {

template <class T>
void run(const EinsumCall& call, const std::optional<kernels::Window>& window) {
  std::vector<Tensor> widened;  // bf16 operands in f32, alive until the call is done
  widened.reserve(call.operands.size());
  std::vector<kernels::Operand<T>> terms;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    const Tensor* operand = call.operands[k];
    if (operand->dtype() == DType::bf16 && kDTypeOf<T> == DType::f32) {
      widened.push_back(operand->as(DType::f32));
      operand = &widened.back();
    }
    terms.push_back({operand->view<T>(), call.operand_subscripts[k]});
  }
  kernels::einsum<T>(terms, call.result->view<T>(), call.result_subscripts, window);
}

}  // namespace

void run_einsum(const EinsumCall& call, const std::optional<kernels::Window>& window) {
  call.result->dtype() == DType::f64 ? run<double>(call, window) : run<float>(call, window);
}

}  // namespace shardline
