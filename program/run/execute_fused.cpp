#include <algorithm>

#include "program/run/execute.h"
#include "program/run/fused_run.h"
#include "program/run/ring_run.h"

// The actions of an executor in which collectives and computations are one: collective matmuls and rings. Every step of
// an action gets one span, as in all others.

namespace shardline {

void Executor::fuse(const Action& action, int number) {
  for (const int s : action.steps) make_results(s);
  const FusionGroup& group = schedule_.fusions.at(number);
  const int collective = group.front().collective;
  enter(collective);
  const Seconds begin = now();
  FusedTimes times =
      run_fused(engine_, program_, group, schedule_.panel, [&](VersionId v) -> Tensor& { return at(v); });
  const Seconds end = now();
  record({.label = collective, .begin = times.started, .end = times.ended, .exposed = times.exposed});
  if (recording_ != nullptr) {
    std::vector<TimeRange> computing;
    for (const std::vector<TimeRange>& product : times.computing) {
      computing.insert(computing.end(), product.begin(), product.end());
    }
    std::sort(computing.begin(), computing.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (const TimeRange& gap : outside(computing, {begin, end})) recording_->add({collective, gap});
  }
  for (std::size_t k = 0; k < group.size(); ++k) {
    Seconds computed = begin;
    for (const TimeRange& panel : times.computing[k]) computed += length(panel);
    record({.label = group[k].computation, .begin = begin, .end = computed}, std::move(times.computing[k]));
  }
}

/// Gathers that an earlier ring left out too have their span there. A ring without collectives of its own waits in its
/// computation.
void Executor::go_round(const Action& action, int number) {
  for (const int s : action.steps) make_results(s);
  const RingFusion& ring = schedule_.rings.at(number);
  std::vector<int> collectives = action.steps;
  std::erase(collectives, ring.computation);
  const int waits = collectives.empty() ? ring.computation : collectives.front();
  enter(waits);
  const Seconds begin = now();
  RingTimes times = run_ring(engine_, program_, ring, [&](VersionId v) -> Tensor& { return at(v); });
  const Seconds end = now();
  const auto together = static_cast<int>(collectives.size());
  for (const int s : collectives) {
    record({.label = s,
            .begin = times.started,
            .end = times.ended,
            .exposed = times.exposed / static_cast<double>(together),
            .together = together});
  }
  if (recording_ != nullptr) {
    for (const TimeRange& gap : outside(times.computing, {begin, end})) recording_->add({waits, gap});
  }
  Seconds computed = begin;
  for (const TimeRange& piece : times.computing) computed += length(piece);
  record({.label = ring.computation,
          .begin = begin,
          .end = computed,
          .exposed = collectives.empty() ? times.exposed : Seconds()},
         std::move(times.computing));
}

}  // namespace shardline
