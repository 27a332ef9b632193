/// Attention and its gradient in f32 and bf16 beside a large matrix product in f32, on one core. Every iteration times
/// all of them, so other work on the machine slows them alike. `share` is the rate of forward and gradient together,
/// over the rate of the product. Operations are those of the visible pairs only, as the cost functions count them.
#include <array>

#include "benchmarks/kernels_support.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"

namespace shardline::kernels {
namespace {

constexpr Index kProduct = 1024;
constexpr int kModelWidth = 512;  // K G H
constexpr int kIterations = 9;

/// The arguments are B, T, K, G and H. T is both that of queries and that of keys.
template <class T>
void attention_beside_gemm(benchmark::State& state) {
  const Shape query{state.range(0), state.range(1), state.range(2), state.range(3), state.range(4)};
  const Shape key{query[0], query[1], query[2], query[4]}, row{query[0], query[1], query[2], query[3]};
  const BenchmarkArray<T> q("q", query), k("k", key), v("v", key), d_o("do", query);
  BenchmarkArray<T> o("o", query), dq("dq", query), dk("dk", key), dv("dv", key);
  BenchmarkArray<float> lse("lse", row);
  const BenchmarkArray<float> a("a", {kProduct, kProduct}), b("b", a.shape);
  BenchmarkArray<float> c("c", a.shape);
  const GemmShape product{
      .m = kProduct, .n = kProduct, .k = kProduct, .lda = kProduct, .ldb = kProduct, .ldc = kProduct};
  const AttentionPlaces places = in_order(query[1]);
  Stopwatch forward, backward, gemms;
  for (auto _ : state) {
    gemms.time([&] { gemm<float>(product, a.values.data(), b.values.data(), c.values.data()); });
    forward.time([&] { attention<T>(q.view(), k.view(), v.view(), places, o.view(), lse.view()); });
    backward.time([&] {
      attention_grad<T>(q.view(), k.view(), v.view(), o.view(), lse.view(), d_o.view(), places, dq.view(), dk.view(),
                        dv.view());
    });
  }
  const double forward_flops = attention_cost(query, key, {.tokens = query[1]}, sizeof(T)).flops.value;
  const double backward_flops = attention_grad_cost(query, key, {.tokens = query[1]}, sizeof(T)).flops.value;
  const double gemm_rate = gemm_cost(product, sizeof(float)).flops.value / gemms.median();
  const double rate = (forward_flops + backward_flops) / (forward.median() + backward.median());
  state.counters["forward"] = forward_flops / forward.median();
  state.counters["gradient"] = backward_flops / backward.median();
  state.counters["gemm"] = gemm_rate;
  state.counters["share"] = rate / gemm_rate;
}

void set_shapes(benchmark::internal::Benchmark* set) {
  set->ArgNames({"B", "T", "K", "G", "H"})->Iterations(kIterations)->Unit(benchmark::kMillisecond);
  for (const auto& [batch, length] : {std::array{8, 256}, {2, 1024}, {1, 4096}}) {
    for (const int width : {64, 128}) {
      for (const int group : {1, 4}) set->Args({batch, length, kModelWidth / (group * width), group, width});
    }
  }
}
BENCHMARK_TEMPLATE(attention_beside_gemm, float)->Apply(set_shapes);
BENCHMARK_TEMPLATE(attention_beside_gemm, BFloat16)->Apply(set_shapes);

}  // namespace
}  // namespace shardline::kernels
