/// Matrix products: ours and direct calls of the BLAS; and the products of a LLaMA layer as
/// einsums.
#include <cblas.h>

#include <string>
#include <type_traits>

#include "benchmarks/kernels_support.h"
#include "kernels/einsum/einsum.h"
#include "kernels/gemm/gemm.h"

namespace shardline::kernels {
namespace {

constexpr Index kElementSize = 4;

template <class T, class Multiply>
void run_square(benchmark::State& state, Multiply&& multiply) {
  const Index n = state.range(0);
  const BenchmarkArray<T> a("a", {n, n}), b("b", {n, n});
  BenchmarkArray<T> c("c", {n, n});
  const GemmShape shape{.m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n};
  for (auto _ : state) {
    multiply(shape, a.values.data(), b.values.data(), c.values.data());
    benchmark::ClobberMemory();
  }
  report_rates(state, gemm_cost(shape, sizeof(T)));
}

template <class T>
void gemm_ours(benchmark::State& state) {
  run_square<T>(state, [](const GemmShape& shape, const T* a, const T* b, T* c) { gemm<T>(shape, 1, a, b, 0, c); });
}

template <class T>
void gemm_direct(benchmark::State& state) {
  run_square<T>(state, [](const GemmShape& shape, const T* a, const T* b, T* c) {
    const auto n = static_cast<blasint>(shape.n);
    if constexpr (std::is_same_v<T, float>) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    } else {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
    }
  });
}

BENCHMARK_TEMPLATE(gemm_ours, float)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(gemm_direct, float)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(gemm_ours, double)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(gemm_direct, double)->Arg(1024)->Unit(benchmark::kMillisecond);

/// Extents of the dims of a small LLaMA.
Index extent_of(char dim) {
  switch (dim) {
    case 'B':
      return 8;
    case 'T':
      return 256;
    case 'D':
      return 512;
    case 'F':
      return 1536;
    case 'K':
      return 4;
    case 'G':
      return 2;
    case 'H':
      return 64;
    default:
      return 4096;  // V
  }
}

Shape shape_of(const std::string& dims) {
  Shape shape;
  for (const char dim : dims) shape.push_back(extent_of(dim));
  return shape;
}

/// Two operands and a result, as in "BTD,DF->BTF".
void einsum_of(benchmark::State& state, const std::string& a_dims, const std::string& b_dims,
               const std::string& out_dims) {
  const BenchmarkArray<float> a("a", shape_of(a_dims)), b("b", shape_of(b_dims));
  BenchmarkArray<float> out("out", shape_of(out_dims));
  const std::vector<EinsumOperand<float>> operands{{a.view(), Subscripts(a_dims.begin(), a_dims.end())},
                                                   {b.view(), Subscripts(b_dims.begin(), b_dims.end())}};
  const Subscripts out_subscripts(out_dims.begin(), out_dims.end());
  for (auto _ : state) {
    einsum<float>(operands, out.view(), out_subscripts);
    benchmark::ClobberMemory();
  }
  std::vector<Index> extents(128, 1);
  for (const char dim : a_dims + b_dims) extents[static_cast<std::size_t>(dim)] = extent_of(dim);
  const std::vector<Subscripts> subscripts{operands[0].subscripts, operands[1].subscripts};
  report_rates(state, einsum_cost(extents, subscripts, out_subscripts, kElementSize));
}

#define SHARDLINE_EINSUM(a, b, out) \
  BENCHMARK_CAPTURE(einsum_of, a##_##b##_##out, #a, #b, #out)->Unit(benchmark::kMillisecond)
SHARDLINE_EINSUM(BTD, DKGH, BTKGH);
SHARDLINE_EINSUM(BTD, BTKGH, DKGH);
SHARDLINE_EINSUM(BTKGH, DKGH, BTD);
SHARDLINE_EINSUM(BTKGH, KGHD, BTD);
SHARDLINE_EINSUM(BTD, DF, BTF);
SHARDLINE_EINSUM(BTF, FD, BTD);
SHARDLINE_EINSUM(BTF, BTD, FD);
SHARDLINE_EINSUM(BTD, VD, BTV);
SHARDLINE_EINSUM(BTV, BTD, VD);
SHARDLINE_EINSUM(BTD, BTD, BT);
SHARDLINE_EINSUM(BTD, BT, D);

}  // namespace
}  // namespace shardline::kernels
