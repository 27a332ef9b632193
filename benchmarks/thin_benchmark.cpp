/// What decodes text, on one core: products of few rows, and attention of one new token over a cache. Every iteration
/// also times a read of memory beyond the caches, as `shardline calibrate` does, and for products the libraries. So
/// other work on the machine slows all of them alike. Each figure is from the fastest iteration: `B/s` is the rate at
/// which weights or the cache are read, `of_read` that rate over the one of the read alone, and `over_library` says how
/// many times as long the fastest library takes.
#include <cblas.h>

#include <numeric>
#include <type_traits>

#include "benchmarks/kernels_support.h"
#include "kernels/adamw.h"
#include "kernels/attention/cache_attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/onednn.h"
#include "kernels/gemm/widened.h"

namespace shardline::kernels {
namespace {

constexpr int kIterations = 25;

/// Reads 96 MiB.
class Reading {
 public:
  void time() {
    watch_.time([&] { sum_squares<double>(array_.view(), {&sum_, {}}); });
  }
  double rate() const { return static_cast<double>(array_.values.size() * sizeof(double)) / watch_.least(); }

 private:
  BenchmarkArray<double> array_ = BenchmarkArray<double>("read", {Index{12} << 20});
  double sum_ = 0;
  Stopwatch watch_;
};

void report(benchmark::State& state, double bytes, const Stopwatch& watch, const Reading& reading) {
  state.counters["B/s"] = bytes / watch.least();
  state.counters["of_read"] = bytes / watch.least() / reading.rate();
}

/// The fastest library for these products: OpenBLAS and both ways of oneDNN.
class Libraries {
 public:
  void time(const GemmShape& s, const float* a, const float* b, float* c) {
    const auto integer = [](Index value) { return static_cast<blasint>(value); };
    openblas_.time([&] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, s.b == Transpose::yes ? CblasTrans : CblasNoTrans, integer(s.m),
                  integer(s.n), integer(s.k), 1, a, integer(s.lda), b, integer(s.ldb), 0, c, integer(s.ldc));
    });
    copying_.time([&] { sgemm_by_onednn(s, a, b, false, c); });
    in_place_.time([&] { multiply_by_onednn(s, a, b, false, c); });
  }
  void time(const GemmShape& s, const BFloat16* a, const BFloat16* b, BFloat16* c) {
    if (onednn_suits(DType::bf16)) return in_place_.time([&] { multiply_by_onednn(s, a, b, false, c); });
    openblas_.time([&] { multiply_widened(s, a, b, false, c); });
  }
  double least() const { return std::min({openblas_.least(), copying_.least(), in_place_.least()}); }

 private:
  Stopwatch openblas_, copying_, in_place_;
};

/// The arguments are m, k, n, and whether the weights are stored [n, k].
template <class T>
void thin_product(benchmark::State& state) {
  const Index m = state.range(0), k = state.range(1), n = state.range(2);
  const bool turned = state.range(3) != 0;
  const BenchmarkArray<T> a("a", {m, k}), b("b", {k, n});
  BenchmarkArray<T> c("c", {m, n});
  const GemmShape shape{
      .b = turned ? Transpose::yes : Transpose::no, .m = m, .n = n, .k = k, .lda = k, .ldb = turned ? k : n, .ldc = n};
  Reading reading;
  Libraries libraries;
  Stopwatch ours;
  for (auto _ : state) {
    reading.time();
    ours.time([&] { gemm(shape, a.values.data(), b.values.data(), c.values.data()); });
    libraries.time(shape, a.values.data(), b.values.data(), c.values.data());
  }
  report(state, static_cast<double>(k * n) * sizeof(T), ours, reading);
  state.counters["over_library"] = libraries.least() / ours.least();
}

void set_products(benchmark::internal::Benchmark* set) {
  set->ArgNames({"m", "k", "n", "turned"})->Iterations(kIterations)->Unit(benchmark::kMillisecond);
  for (const int m : {1, 4, 8, 16}) {
    set->Args({m, 4096, 14336, 0})->Args({m, 14336, 4096, 1})->Args({m, 2048, 32000, 1});
  }
}
BENCHMARK_TEMPLATE(thin_product, float)->Apply(set_products);
BENCHMARK_TEMPLATE(thin_product, BFloat16)->Apply(set_products);

/// The arguments are B, S, K, G and H. All places are seen.
template <class T>
void decode_attention(benchmark::State& state) {
  const Index B = state.range(0), S = state.range(1);
  const Shape queries{B, 1, state.range(2), state.range(3), state.range(4)}, cache{B, S, queries[2], queries[4]};
  const BenchmarkArray<T> q("q", queries), k("k", cache), v("v", cache);
  BenchmarkArray<T> o("o", queries);
  const std::vector<std::int32_t> at(static_cast<std::size_t>(B), static_cast<std::int32_t>(S - 1));
  std::vector<std::int32_t> where(static_cast<std::size_t>(S));
  std::iota(where.begin(), where.end(), 0);
  const CachePlaces places{{at.data(), {B, 1}}, {where.data(), {S}}};
  Reading reading;
  Stopwatch ours;
  for (auto _ : state) {
    reading.time();
    ours.time([&] { cache_attention<T>(q.view(), k.view(), v.view(), places, o.view()); });
  }
  report(state, 2.0 * static_cast<double>(element_count(cache)) * sizeof(T), ours, reading);
}

void set_caches(benchmark::internal::Benchmark* set) {
  set->ArgNames({"B", "S", "K", "G", "H"})->Iterations(kIterations)->Unit(benchmark::kMillisecond);
  set->Args({1, 16384, 8, 1, 64})->Args({1, 16384, 8, 4, 128})->Args({8, 2048, 8, 4, 128})->Args({1, 4096, 32, 1, 128});
}
BENCHMARK_TEMPLATE(decode_attention, float)->Apply(set_caches);
BENCHMARK_TEMPLATE(decode_attention, BFloat16)->Apply(set_caches);

}  // namespace
}  // namespace shardline::kernels
