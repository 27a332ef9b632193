/// Attention, and the kernels that only walk over memory.
#include "benchmarks/kernels_support.h"
#include "kernels/adamw.h"
#include "kernels/attention/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/norm.h"
#include "kernels/reduce.h"
#include "kernels/rope.h"
#include "program/transform/samples.h"

namespace shardline::kernels {
namespace {

constexpr Index kElementSize = 4;
const Shape kTokens{4, 128};
const Shape kHidden{4, 128, 512};
const Shape kStream{4, 128, 192};
const Shape kLogits{4, 128, 256};

/// Arrays of attention: sequences of range(0) positions, heads of range(1), three queries per key.
/// 1024 positions in total, but at least one sequence.
struct Heads {
  Shape q, k, lse;
  AttentionPlaces places;

  explicit Heads(const benchmark::State& state) {
    const Index length = state.range(0), width = state.range(1), batch = std::max<Index>(1, 1024 / length);
    q = {batch, length, 2, 3, width};
    k = {batch, length, 2, width};
    lse = {batch, length, 2, 3};
    places = in_order(length);
  }
};

void attention_forward(benchmark::State& state) {
  const Heads heads(state);
  const BenchmarkArray<float> q("q", heads.q), k("k", heads.k), v("v", heads.k);
  BenchmarkArray<float> o("o", heads.q), lse("lse", heads.lse);
  for (auto _ : state) attention<float>(q.view(), k.view(), v.view(), heads.places, o.view(), lse.view());
  report_rates(state, attention_cost(heads.q, heads.k, {.tokens = heads.q[1]}, kElementSize));
}

void attention_backward(benchmark::State& state) {
  const Heads heads(state);
  const BenchmarkArray<float> q("q", heads.q), k("k", heads.k), v("v", heads.k), d_o("do", heads.q);
  BenchmarkArray<float> o("o", heads.q), lse("lse", heads.lse), dq("dq", heads.q), dk("dk", heads.k), dv("dv", heads.k);
  attention<float>(q.view(), k.view(), v.view(), heads.places, o.view(), lse.view());
  for (auto _ : state) {
    attention_grad<float>(q.view(), k.view(), v.view(), o.view(), lse.view(), d_o.view(), heads.places, dq.view(),
                          dk.view(), dv.view());
  }
  report_rates(state, attention_grad_cost(heads.q, heads.k, {.tokens = heads.q[1]}, kElementSize));
}

void add_two(benchmark::State& state) {
  const BenchmarkArray<float> a("a", kHidden), b("b", kHidden);
  BenchmarkArray<float> out("out", kHidden);
  const std::vector<View<const float>> terms{a.view(), b.view()};
  for (auto _ : state) add<float>(terms, out.view());
  report_rates(state, add_cost(2, out.view().size(), kElementSize));
}

void combine_sum(benchmark::State& state) {
  const BenchmarkArray<float> from("from", kHidden);
  BenchmarkArray<float> into("into", kHidden);
  const Index count = into.view().size();
  const std::array<Source, 2> sources{{{DType::f32, into.values.data()}, {DType::f32, from.values.data()}}};
  for (auto _ : state) combine(ReduceOp::sum, sources, {DType::f32, into.values.data()}, count);
  report_rates(state, combine_cost(2, count, kElementSize));
}

void combine_bf16(benchmark::State& state) {
  const Index count = element_count(kHidden);
  std::vector<BFloat16> into(static_cast<std::size_t>(count), BFloat16(1.0F)), from = into;
  const std::array<Source, 2> sources{{{DType::bf16, into.data()}, {DType::bf16, from.data()}}};
  for (auto _ : state) combine(ReduceOp::sum, sources, {DType::bf16, into.data()}, count);
  report_rates(state, combine_cost(2, count, 2));
}

void norm_forward(benchmark::State& state) {
  const BenchmarkArray<float> x("x", kStream), w("w", {kStream.back()});
  BenchmarkArray<float> ss("ss", kTokens), y("y", kStream);
  for (auto _ : state) {
    sum_squares_rows<float>(x.view(), ss.view());
    normalize<float>(x.view(), ss.view(), w.view(), {kStream.back(), 1e-5}, y.view());
  }
  const Cost sums = sum_squares_rows_cost(kStream, kElementSize);
  const Cost scaled = normalize_cost(kStream, kElementSize);
  report_rates(state, {sums.flops + scaled.flops, sums.bytes + scaled.bytes});
}

void norm_backward(benchmark::State& state) {
  const BenchmarkArray<float> x("x", kStream), w("w", {kStream.back()}), dy("dy", kStream), dot("dot", kTokens);
  BenchmarkArray<float> ss("ss", kTokens), dx("dx", kStream), dw("dw", {kStream.back()});
  sum_squares_rows<float>(x.view(), ss.view());
  for (auto _ : state) {
    norm_grad<float>(dy.view(), x.view(), ss.view(), w.view(), dot.view(), {kStream.back(), 1e-5}, dx.view(),
                     dw.view());
  }
  report_rates(state, norm_grad_cost(kStream, kElementSize));
}

void norm_dots(benchmark::State& state) {
  const BenchmarkArray<float> dy("dy", kStream), w("w", {kStream.back()}), x("x", kStream);
  BenchmarkArray<float> dot("dot", kTokens);
  for (auto _ : state) norm_dot<float>(dy.view(), w.view(), x.view(), dot.view());
  report_rates(state, norm_dot_cost(kStream, kElementSize));
}

void rope_forward(benchmark::State& state) {
  const Shape shape{4, 128, state.range(0), state.range(1)};
  const BenchmarkArray<float> x("x", shape);
  BenchmarkArray<float> y("y", shape);
  for (auto _ : state)
    rope<float>(x.view(), {.time_dim = 1, .positions = in_order(shape[1]).query_positions}, y.view());
  report_rates(state, rope_cost(y.view().size(), kElementSize));
}

void row_maxima(benchmark::State& state) {
  const BenchmarkArray<float> logits("logits", kLogits);
  BenchmarkArray<float> max("max", kTokens);
  for (auto _ : state) row_max<float>(logits.view(), max.view());
  report_rates(state, row_max_cost(kLogits, kElementSize));
}

void softmax_sums(benchmark::State& state) {
  const BenchmarkArray<float> logits("logits", kLogits);
  BenchmarkArray<float> max("max", kTokens), z("z", kTokens);
  row_max<float>(logits.view(), max.view());
  for (auto _ : state) sum_exp<float>(logits.view(), max.view(), z.view());
  report_rates(state, sum_exp_cost(kLogits, kElementSize));
}

void cross_entropy_backward(benchmark::State& state) {
  const BenchmarkArray<float> logits("logits", kLogits), dloss("dloss", {});
  BenchmarkArray<float> max("max", kTokens), z("z", kTokens), dlogits("dlogits", kLogits);
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(element_count(kTokens)), 1);
  row_max<float>(logits.view(), max.view());
  sum_exp<float>(logits.view(), max.view(), z.view());
  for (auto _ : state) {
    cross_entropy_grad<float>(logits.view(), {labels.data(), kTokens}, max.view(), z.view(), dloss.view(),
                              {0, kLogits.back()}, 1, dlogits.view());
  }
  report_rates(state, cross_entropy_grad_cost(kLogits, kElementSize));
}

void likelihood(benchmark::State& state) {
  const BenchmarkArray<float> max("max", kTokens), picked("picked", kTokens);
  BenchmarkArray<float> z("z", kTokens), loss("loss", {});
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(element_count(kTokens)), 1);
  std::fill(z.values.begin(), z.values.end(), 3.0F);
  for (auto _ : state) {
    negative_log_likelihood<float>(z.view(), max.view(), picked.view(), {labels.data(), kTokens}, 1, loss.view());
  }
  report_rates(state, negative_log_likelihood_cost(z.view().size(), kElementSize));
}

void adamw_update(benchmark::State& state) {
  const BenchmarkArray<float> g("g", {4096, 512});
  BenchmarkArray<float> p("p", g.shape), m("m", g.shape), v("v", g.shape);
  for (float& value : v.values) value *= value;
  for (auto _ : state) {
    adamw<float>({.weight_decay = 0.1, .clip_norm = 1}, p.view(), g.view(), m.view(), v.view(), 4, 1e-3, 10, p.view(),
                 m.view(), v.view());
  }
  report_rates(state, adamw_cost(p.view().size(), {kElementSize, kElementSize, kElementSize}));
}

BENCHMARK(attention_forward)->ArgsProduct({{128, 512, 2048}, {32, 64, 128}})->Unit(benchmark::kMillisecond);
BENCHMARK(attention_backward)->ArgsProduct({{128, 512, 2048}, {32, 64, 128}})->Unit(benchmark::kMillisecond);
BENCHMARK(add_two)->Unit(benchmark::kMillisecond);
BENCHMARK(combine_sum)->Unit(benchmark::kMillisecond);
BENCHMARK(combine_bf16)->Unit(benchmark::kMillisecond);
BENCHMARK(norm_forward)->Unit(benchmark::kMillisecond);
BENCHMARK(norm_backward)->Unit(benchmark::kMillisecond);
BENCHMARK(norm_dots)->Unit(benchmark::kMillisecond);
BENCHMARK(rope_forward)->ArgsProduct({{2, 6}, {32, 64, 128}})->Unit(benchmark::kMillisecond);
BENCHMARK(row_maxima)->Unit(benchmark::kMillisecond);
BENCHMARK(softmax_sums)->Unit(benchmark::kMillisecond);
BENCHMARK(cross_entropy_backward)->Unit(benchmark::kMillisecond);
BENCHMARK(likelihood)->Unit(benchmark::kMillisecond);
BENCHMARK(adamw_update)->Unit(benchmark::kMillisecond);

/// Every kernel of the table of operations on its sample.
const bool kSamplesRegistered = [] {
  for (const SampledKernel& sampled : sampled_kernels(DType::f32)) {
    benchmark::RegisterBenchmark(("sample/" + std::string(sampled.kernel->name)).c_str(), [sampled](auto& state) {
      for (auto _ : state) sampled.run->run(sampled.operation, sampled.phase);
      report_rates(state, sampled.run->cost(sampled.operation, sampled.phase));
    });
  }
  return true;
}();

}  // namespace
}  // namespace shardline::kernels
