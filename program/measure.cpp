#include "program/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collectives/all_reduce.h"
#include "runtime/base/check.h"
#include "runtime/tensor.h"

namespace shardline {
namespace {

/// Collective over the mesh: the largest value over all ranks, element by element.
std::vector<double> max_over_ranks(collectives::Engine& engine, const std::vector<double>& values) {
  Tensor tensor(DType::f64, {static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), tensor.view<double>().begin());
  collectives::all_reduce(engine, engine.mesh().axes().axes(), ReduceOp::max, tensor, tensor);
  const View<double> result = tensor.view<double>();
  return {result.begin(), result.end()};
}

}  // namespace

std::vector<Measured> measure(const Trace& trace, collectives::Engine& engine) {
  std::vector<double> slowest;
  std::vector<double> shortest;  // negated, so that one maximum serves both
  std::vector<double> exposed(trace.labels().size(), 0);
  for (const Span& span : trace.spans()) {
    slowest.push_back((span.end - span.begin).value);
    shortest.push_back(-slowest.back());
    exposed[static_cast<std::size_t>(span.label)] += span.exposed.value;
  }
  slowest = max_over_ranks(engine, slowest);
  shortest = max_over_ranks(engine, shortest);
  exposed = max_over_ranks(engine, exposed);
  std::vector<Measured> result(trace.labels().size());
  for (std::size_t i = 0; i < trace.spans().size(); ++i) {
    const auto label = static_cast<std::size_t>(trace.spans()[i].label);
    ++result[label].count;
    result[label].total += Seconds(trace.labels()[label].communicates ? -shortest[i] : slowest[i]);
  }
  for (std::size_t label = 0; label < result.size(); ++label) result[label].exposed = Seconds(exposed[label]);
  return result;
}

Overlap measure_overlap(const Trace& trace, collectives::Engine& engine) {
  std::vector<std::pair<Seconds, Seconds>> flights;
  Overlap overlap;
  for (const Span& span : trace.spans()) {
    const Label& label = trace.labels()[static_cast<std::size_t>(span.label)];
    if (!label.communicates) continue;
    flights.emplace_back(span.begin, span.end);
    overlap.alone += label.predicted;
    overlap.exposed += span.exposed;
  }
  std::sort(flights.begin(), flights.end());
  Seconds covered;  // up to here
  for (const auto& [begin, end] : flights) {
    if (end > covered) overlap.in_flight += end - std::max(begin, covered);
    covered = std::max(covered, end);
  }
  const Seconds shorter = std::min(overlap.in_flight, overlap.alone);
  const double hidden = shorter.value > 0 ? std::clamp(1 - overlap.exposed / shorter, 0.0, 1.0) : 0;
  const std::vector<double> most = max_over_ranks(engine, {overlap.in_flight.value, overlap.exposed.value, -hidden});
  overlap.in_flight = Seconds(most[0]);
  overlap.exposed = Seconds(most[1]);
  overlap.hidden = -most[2];
  return overlap;
}

std::vector<KindSummary> summarise(const std::vector<Label>& labels, const std::vector<Measured>& measured) {
  SHARDLINE_CHECK(labels.size() == measured.size(), "{} measurements of {} labels", measured.size(), labels.size());
  std::map<std::pair<std::string, std::string>, KindSummary> by_kind;
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> share;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const double count = measured[i].count;
    const auto key = std::pair(label.kind, label.axis);
    KindSummary& sum = by_kind[key];
    sum.kind = label.kind;
    sum.axis = label.axis;
    sum.count += measured[i].count;
    sum.bytes += label.bytes * count;
    sum.wire_bytes += label.wire_bytes * count;
    sum.flops += label.flops * count;
    sum.predicted += label.predicted * count;
    sum.measured += measured[i].total;
    sum.exposed += measured[i].exposed;
    share[key][label.limiter] += label.predicted.value * count;
  }
  std::vector<KindSummary> result;
  for (auto& [key, sum] : by_kind) {
    const auto& shares = share[key];
    sum.limiter = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
                    return a.second < b.second;
                  })->first;
    result.push_back(sum);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const KindSummary& a, const KindSummary& b) { return a.measured > b.measured; });
  return result;
}

std::string table(const std::vector<KindSummary>& summaries) {
  std::string text =
      fmt::format("{:<24} {:>4} {:>7} {:>9} {:>11} {:>10} {:>10} {:>10} {:>6}  {}\n", "operation", "axis", "count",
                  "bytes", "FLOPs", "measured", "exposed", "predicted", "ratio", "limiter");
  for (const KindSummary& s : summaries) {
    text += fmt::format("{:<24} {:>4} {:>7} {:>9} {:>11} {:>10} {:>10} {:>10} {:>6.2f}  {}\n", s.kind, s.axis, s.count,
                        to_string(s.bytes), to_string(s.flops), to_string(s.measured), to_string(s.exposed),
                        to_string(s.predicted), s.ratio(), s.limiter);
  }
  return text;
}

}  // namespace shardline
