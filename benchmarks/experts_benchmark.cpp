/// The products of a layer of experts, forward and backward, beside dense products of as many operations, on one core.
/// Every iteration times all of them, so other work on the machine slows them alike, and routes the tokens anew.
/// A `share` is the rate of the experts over that of the dense products.
#include <array>
#include <string>
#include <utility>

#include "benchmarks/kernels_support.h"
#include "kernels/experts/expert_product.h"
#include "kernels/experts/routing.h"
#include "kernels/gemm/gemm.h"

namespace shardline::kernels {
namespace {

constexpr Index kExperts = 8, kChosen = 2, kSequences = 8, kTokens = 256, kWidth = 512, kInner = 1408;
constexpr Index kRows = kSequences * kTokens * kChosen;
constexpr int kIterations = 15;

/// Which places tokens take that choose experts at random, as often as there are iterations. No expert is ever full.
std::vector<std::vector<std::int32_t>> random_routings() {
  std::vector<std::vector<std::int32_t>> routings(kIterations);
  const Shape choices{kSequences, kTokens, kChosen};
  std::vector<std::int32_t> positions(kTokens);
  std::iota(positions.begin(), positions.end(), 0);
  for (int i = 0; i < kIterations; ++i) {
    const BenchmarkArray<float> logits("logits " + std::to_string(i), {kSequences, kTokens, kExperts});
    std::vector<float> probs(logits.values.size());
    std::vector<float> gate(kRows);
    std::vector<std::int32_t> choice(kRows), slot(kRows), load(kExperts * kSequences);
    softmax<float>(logits.view(), {probs.data(), logits.shape});
    top_k<float>({probs.data(), logits.shape}, {gate.data(), choices}, {choice.data(), choices});
    std::vector<std::int32_t>& taken = routings[static_cast<std::size_t>(i)];
    taken.resize(kExperts * kSequences);
    assign_places({choice.data(), choices}, {positions.data(), {kTokens}}, kTokens, {slot.data(), choices},
                  {taken.data(), {kExperts, kSequences}}, {load.data(), {kSequences, kExperts}});
  }
  return routings;
}

/// A product of a layer: rows of width `in` to rows of width `out`, or the gradient of their weights.
struct Kind {
  const char* name;
  Index in, out;
  bool transposed = false, of_weights = false;

  GemmShape dense() const {
    if (of_weights) return {.a = Transpose::yes, .m = in, .n = out, .k = kRows, .lda = in, .ldb = out, .ldc = out};
    return {.b = transposed ? Transpose::yes : Transpose::no,
            .m = kRows,
            .n = out,
            .k = in,
            .lda = in,
            .ldb = transposed ? in : out,
            .ldc = out};
  }
};

constexpr std::array kKinds{Kind{"up", kWidth, kInner},
                            Kind{"down", kInner, kWidth},
                            Kind{"down back", kWidth, kInner, true},
                            Kind{"up back", kInner, kWidth, true},
                            Kind{"up weights", kWidth, kInner, false, true},
                            Kind{"down weights", kInner, kWidth, false, true}};

/// Arrays with a place for every token, of width D and F, and weights [E, D, F]. The dense products have as many rows
/// as tokens have places, from the same memory.
template <class T>
struct Layer {
  BenchmarkArray<T> x{"x", {kExperts, kSequences, kTokens, kWidth}}, h{"h", {kExperts, kSequences, kTokens, kInner}};
  BenchmarkArray<T> to_x{"to_x", x.shape}, to_h{"to_h", h.shape};
  BenchmarkArray<T> weights{"weights", {kExperts, kWidth, kInner}}, gradient{"gradient", weights.shape};

  const BenchmarkArray<T>& rows(Index width) const { return width == kWidth ? x : h; }
  BenchmarkArray<T>& result(Index width) { return width == kWidth ? to_x : to_h; }

  void multiply(const Kind& kind, View<const std::int32_t> taken_EB) {
    const Range places{0, kTokens};
    const BenchmarkArray<T>& from = rows(kind.in);
    if (kind.of_weights) {
      expert_weight_grad<T>(from.view(), rows(kind.out).view(), taken_EB, places, gradient.view());
    } else {
      const View<const T> w = std::as_const(weights).view();
      expert_product<T>(from.view(), w, kind.transposed, taken_EB, places, result(kind.out).view());
    }
  }

  void multiply_dense(const Kind& kind) {
    const T* b = kind.of_weights ? rows(kind.out).values.data() : weights.values.data();
    T* c = kind.of_weights ? gradient.values.data() : result(kind.out).values.data();
    gemm<T, T>(kind.dense(), rows(kind.in).values.data(), b, c);
  }
};

template <class T>
void experts_beside_gemm(benchmark::State& state) {
  Layer<T> layer;
  const std::vector<std::vector<std::int32_t>> routings = random_routings();
  std::array<Stopwatch, kKinds.size()> experts, dense;
  std::size_t iteration = 0;
  for (auto _ : state) {
    const View<const std::int32_t> taken{routings[iteration++ % kIterations].data(), {kExperts, kSequences}};
    for (std::size_t i = 0; i < kKinds.size(); ++i) {
      experts[i].time([&] { layer.multiply(kKinds[i], taken); });
      dense[i].time([&] { layer.multiply_dense(kKinds[i]); });
    }
  }
  double flops = 0, experts_s = 0, dense_s = 0;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    flops += gemm_cost(kKinds[i].dense(), sizeof(T)).flops.value;
    experts_s += experts[i].median();
    dense_s += dense[i].median();
    state.counters[kKinds[i].name] = dense[i].median() / experts[i].median();
  }
  state.counters["dense FLOP/s"] = flops / dense_s;
  state.counters["share"] = dense_s / experts_s;
}
BENCHMARK_TEMPLATE(experts_beside_gemm, float)->Iterations(kIterations)->Unit(benchmark::kMillisecond);
BENCHMARK_TEMPLATE(experts_beside_gemm, BFloat16)->Iterations(kIterations)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardline::kernels
