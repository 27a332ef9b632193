#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/support/cost.h"
#include "runtime/base/counter_rng.h"
#include "runtime/base/view.h"
#include "runtime/base/with_type.h"
#include "runtime/host/large_pages.h"

namespace shardline::kernels {

/// An array of standard normal values, as kernel input.
template <class T>
struct BenchmarkArray {
  Shape shape;
  std::vector<T> values;

  BenchmarkArray(std::string_view name, Shape s) : shape(std::move(s)) {
    const Index count = element_count(shape);
    const CounterRng rng(1, name);
    values.reserve(static_cast<std::size_t>(count));
    prefer_large_pages(values.data(), static_cast<std::size_t>(count) * sizeof(T));
    for (Index i = 0; i < count; ++i) values.push_back(from_double<T>(rng.normal(i)));
  }
  View<T> view() { return {values.data(), shape}; }
  View<const T> view() const { return {values.data(), shape}; }
};

/// The places of sequences of one document, in memory that stays.
inline AttentionPlaces in_order(Index tokens) {
  static std::map<Index, std::vector<std::int32_t>> known;
  std::vector<std::int32_t>& positions = known[tokens];
  positions.resize(static_cast<std::size_t>(tokens));
  std::iota(positions.begin(), positions.end(), 0);
  const View<const std::int32_t> view{positions.data(), {tokens}};
  return {.query_positions = view, .key_positions = view};
}

/// Seconds of processor time of each run of one kernel.
class Stopwatch {
 public:
  template <class Body>
  void time(Body&& body) {
    const std::clock_t start = std::clock();
    body();
    benchmark::ClobberMemory();
    seconds_.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  double median() {
    std::nth_element(seconds_.begin(), seconds_.begin() + seconds_.size() / 2, seconds_.end());
    return seconds_[seconds_.size() / 2];
  }
  /// Infinity if nothing ran.
  double least() const {
    double least = std::numeric_limits<double>::infinity();
    for (const double seconds : seconds_) least = std::min(least, seconds);
    return least;
  }

 private:
  std::vector<double> seconds_;
};

/// Rates from the cost of one iteration, in decimal units, printed as FLOP/s and B/s.
inline void report_rates(benchmark::State& state, const Cost& cost) {
  using benchmark::Counter;
  state.counters["FLOP/s"] = Counter(cost.flops.value, Counter::kIsIterationInvariantRate);
  state.counters["B/s"] = Counter(cost.bytes.value, Counter::kIsIterationInvariantRate);
}

}  // namespace shardline::kernels
