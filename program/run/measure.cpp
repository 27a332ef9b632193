#include "program/run/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "collectives/all_reduce.h"
#include "runtime/base/check.h"
#include "runtime/base/statistics.h"

namespace shardline {

using collectives::max_over;

std::vector<JointTime> joint_times(const std::vector<Label>& labels, const std::vector<Span>& spans,
                                   const ClockAlignment& clock, collectives::Engine& engine) {
  std::vector<JointTime> joint(spans.size());
  std::vector<double> taken(spans.size());
  std::map<Axes, std::vector<std::size_t>> collectives;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Label& label = labels[static_cast<std::size_t>(spans[i].label)];
    // A move between stages has its other end on another mesh.
    const bool within = std::all_of(label.axes.begin(), label.axes.end(),
                                    [&](const Axis& axis) { return engine.mesh().axes().has(axis); });
    if (label.communicates && within) collectives[label.axes].push_back(i);
    taken[i] = (spans[i].end - spans[i].begin).value;
  }
  const auto rank = static_cast<double>(engine.mesh().rank());
  for (const auto& [axes, numbers] : collectives) {
    const std::size_t count = numbers.size();
    std::vector<double> ends;  // entries, then exits
    for (const std::size_t i : numbers) ends.push_back(clock.common(spans[i].begin).value);
    for (const std::size_t i : numbers) ends.push_back(clock.common(spans[i].end).value);
    const std::vector<double> last = max_over(engine, axes, ends);
    std::vector<double> who(count);  // negated, so that the lowest rank is the largest
    for (std::size_t k = 0; k < count; ++k) {
      who[k] = ends[k] == last[k] ? -rank : -static_cast<double>(engine.mesh().ranks());
    }
    who = max_over(engine, axes, who);
    for (std::size_t k = 0; k < count; ++k) {
      taken[numbers[k]] = last[count + k] - last[k];
      joint[numbers[k]] = {{}, Seconds(last[k]), static_cast<Index>(-who[k])};
    }
  }
  taken = max_over(engine, engine.mesh().axes().axes(), taken);
  for (std::size_t i = 0; i < spans.size(); ++i) joint[i].taken = Seconds(taken[i]);
  return joint;
}

namespace {

/// Collective over the mesh: by label, the time of each rank in all its spans.
std::vector<std::vector<Seconds>> times_of_ranks(const Trace& trace, const mpi::Communicator& comm) {
  std::vector<double> own(trace.labels().size(), 0);
  for (const Span& span : trace.spans()) own[static_cast<std::size_t>(span.label)] += (span.end - span.begin).value;
  std::vector<std::vector<Seconds>> times(own.size());
  const std::string mine(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double));
  for (const std::string& bytes : comm.all_gather_bytes(mine)) {
    std::vector<double> of_rank(own.size());
    std::memcpy(of_rank.data(), bytes.data(), bytes.size());
    for (std::size_t label = 0; label < own.size(); ++label) times[label].emplace_back(of_rank[label]);
  }
  return times;
}

void sort_worst_first(std::vector<KindSummary>& kinds) {
  Seconds all;
  for (const KindSummary& kind : kinds) all += kind.measured;
  const auto small = [&](const KindSummary& kind) { return kind.measured < kSmallShare * all; };
  std::stable_sort(kinds.begin(), kinds.end(), [&](const KindSummary& a, const KindSummary& b) {
    return small(a) != small(b) ? small(b) : a.ratio() > b.ratio();
  });
}

/// Finds the ranks with the most and the least time.
void compare_ranks(const std::vector<Seconds>& of_rank, KindSummary& kind) {
  if (of_rank.empty()) return;
  const auto [least, most] = std::minmax_element(of_rank.begin(), of_rank.end());
  kind.slowest_rank = static_cast<int>(most - of_rank.begin());
  kind.slowest = *most;
  kind.fastest = *least;
}

}  // namespace

std::vector<Measured> measure(const Trace& trace, collectives::Engine& engine) {
  std::vector<double> exposed(trace.labels().size(), 0);
  for (const Span& span : trace.spans()) exposed[static_cast<std::size_t>(span.label)] += span.exposed.value;
  exposed = max_over(engine, engine.mesh().axes().axes(), exposed);
  const std::vector<JointTime> joint = joint_times(trace.labels(), trace.spans(), trace.clock(), engine);
  std::vector<Measured> result(trace.labels().size());
  std::vector<std::vector<Seconds>> taken(result.size());
  for (std::size_t i = 0; i < trace.spans().size(); ++i) {
    const Span& span = trace.spans()[i];
    Measured& sum = result[static_cast<std::size_t>(span.label)];
    ++sum.count;
    const Seconds mine = joint[i].taken / span.together;
    sum.total += mine;
    taken[static_cast<std::size_t>(span.label)].push_back(mine);
  }
  std::vector<std::vector<Seconds>> of_ranks = times_of_ranks(trace, engine.mesh().comm());
  for (std::size_t label = 0; label < result.size(); ++label) {
    if (!taken[label].empty()) result[label].median = median(std::move(taken[label]));
    result[label].exposed = Seconds(exposed[label]);
    result[label].of_rank = std::move(of_ranks[label]);
  }
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
  const std::vector<double> most =
      max_over(engine, engine.mesh().axes().axes(), {overlap.in_flight.value, overlap.exposed.value, -hidden});
  overlap.in_flight = Seconds(most[0]);
  overlap.exposed = Seconds(most[1]);
  overlap.hidden = -most[2];
  return overlap;
}

std::vector<KindSummary> summarise(const std::vector<Label>& labels, const std::vector<Measured>& measured) {
  SHARDLINE_CHECK(labels.size() == measured.size(), "{} measurements of {} labels", measured.size(), labels.size());
  std::map<std::pair<std::string, std::string>, KindSummary> by_kind;
  std::map<std::pair<std::string, std::string>, std::map<std::string, double>> share;
  std::map<std::pair<std::string, std::string>, std::vector<Seconds>> of_rank;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Label& label = labels[i];
    const double count = measured[i].count;
    const auto key = std::pair(label.kind, to_string(label.axes));
    KindSummary& sum = by_kind[key];
    sum.kind = label.kind;
    sum.axis = key.second;
    sum.count += measured[i].count;
    sum.bytes += label.bytes * count;
    sum.wire_bytes += label.wire_bytes * count;
    sum.flops += label.flops * count;
    sum.predicted += label.predicted * count;
    sum.math += label.math * count;
    sum.memory += label.memory * count;
    sum.comms += label.comms * count;
    sum.measured += measured[i].total;
    sum.exposed += measured[i].exposed;
    share[key][label.limiter] += label.predicted.value * count;
    std::vector<Seconds>& spent = of_rank[key];
    spent.resize(std::max(spent.size(), measured[i].of_rank.size()));
    for (std::size_t rank = 0; rank < measured[i].of_rank.size(); ++rank) spent[rank] += measured[i].of_rank[rank];
  }
  std::vector<KindSummary> result;
  for (auto& [key, sum] : by_kind) {
    const auto& shares = share[key];
    sum.limiter = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
                    return a.second < b.second;
                  })->first;
    compare_ranks(of_rank[key], sum);
    result.push_back(sum);
  }
  sort_worst_first(result);
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
