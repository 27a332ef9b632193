// Einsums of blocks in memory: operands of two element types.

#include "program/ops/einsum.h"

#include <gtest/gtest.h>

#include "kernels/gemm/gemm.h"

namespace shardline {
namespace {

constexpr Index kSize = 100;  // such products are oneDNN's, which keeps operands

/// A matrix whose elements are all `value`.
Tensor filled(DType dtype, double value) {
  Tensor wide(DType::f64, {kSize, kSize});
  for (Index i = 0; i < wide.size(); ++i) wide.view<double>()[i] = value;
  return wide.as(dtype);
}

/// Whoever computes several products in windows keeps operands of all of them. Each product must find its own.
TEST(RunEinsum, ProductsOfMixedTypesDoNotTakeEachOthersOperands) {
  const kernels::GemmLibrary before = kernels::gemm_library(DType::f32);
  kernels::set_gemm_library(DType::f32, kernels::GemmLibrary::onednn);
  kernels::KeptOperands kept;
  const Tensor a = filled(DType::f32, 1);
  for (const double value : {1.0, 2.0, 3.0}) {
    const Tensor b = filled(DType::bf16, value);
    Tensor c(DType::f32, {kSize, kSize});
    const EinsumCall call{{&a, &b}, {{0, 2}, {2, 1}}, &c, {0, 1}};
    run_einsum(call, kernels::Window{0, {0, kSize}}, &kept);
    for (Index i = 0; i < c.size(); ++i) ASSERT_EQ(c.view<float>()[i], value * kSize) << i;
  }
  kernels::set_gemm_library(DType::f32, before);
}

}  // namespace
}  // namespace shardline
