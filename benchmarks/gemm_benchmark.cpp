/// Matrix products: ours and direct calls of the BLAS; and the products of a LLaMA layer as
/// einsums, by both libraries, whole and in windows.
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
  run_square<T>(state, [](const GemmShape& shape, const T* a, const T* b, T* c) { gemm(shape, a, b, c); });
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
      return 1408;
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

Subscripts subscripts_of(const std::string& dims) { return {dims.begin(), dims.end()}; }

/// The extent of every index, by its letter.
std::vector<Index> extents_of(const std::string& dims) {
  std::vector<Index> extents(128, 1);
  for (const char dim : dims) extents[static_cast<std::size_t>(dim)] = extent_of(dim);
  return extents;
}

/// Two operands and a result, as in "BTD,DF->BTF", by a library (0 OpenBLAS, 1 oneDNN) and in so many windows of the
/// outermost dim of the result, as beside collectives.
void einsum_of(benchmark::State& state, const std::string& a_dims, const std::string& b_dims,
               const std::string& out_dims) {
  const BenchmarkArray<float> a("a", shape_of(a_dims)), b("b", shape_of(b_dims));
  BenchmarkArray<float> out("out", shape_of(out_dims));
  const std::vector<EinsumOperand<float>> operands{{a.view(), subscripts_of(a_dims)},
                                                   {b.view(), subscripts_of(b_dims)}};
  const Index rows = extent_of(out_dims[0]), windows = state.range(1);
  set_gemm_library(DType::f32, state.range(0) == 0 ? GemmLibrary::openblas : GemmLibrary::onednn);
  for (auto _ : state) {
    KeptOperands kept;
    for (Index i = 0; i < windows; ++i) {
      const Window window{out_dims[0], {rows * i / windows, rows * (i + 1) / windows}};
      einsum<float>(operands, out.view(), subscripts_of(out_dims), window, &kept);
    }
    benchmark::ClobberMemory();
  }
  set_gemm_library(DType::f32, suitable_library(DType::f32));
  const std::vector<Subscripts> subscripts{operands[0].subscripts, operands[1].subscripts};
  report_rates(state, einsum_cost(extents_of(a_dims + b_dims), subscripts, subscripts_of(out_dims), kElementSize));
}

#define SHARDLINE_EINSUM(a, b, out)                           \
  BENCHMARK_CAPTURE(einsum_of, a##_##b##_##out, #a, #b, #out) \
      ->ArgNames({"library", "windows"})                      \
      ->ArgsProduct({{0, 1}, {1, 8}})                         \
      ->Unit(benchmark::kMillisecond)
SHARDLINE_EINSUM(BTD, DKGH, BTKGH);
SHARDLINE_EINSUM(BTD, BTKGH, DKGH);
SHARDLINE_EINSUM(BTKGH, DKGH, BTD);
SHARDLINE_EINSUM(BTKGH, KGHD, BTD);
SHARDLINE_EINSUM(BTD, DF, BTF);
SHARDLINE_EINSUM(BTF, FD, BTD);
SHARDLINE_EINSUM(BTF, DF, BTD);
SHARDLINE_EINSUM(BTF, BTD, FD);
SHARDLINE_EINSUM(BTD, VD, BTV);
SHARDLINE_EINSUM(BTV, BTD, VD);

}  // namespace
}  // namespace shardline::kernels
