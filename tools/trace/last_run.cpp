#include "tools/trace/last_run.h"

#include <algorithm>
#include <cstring>

#include "program/run/measure.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {
namespace {

/// A span by rank 0's clock, in the form that ranks send.
struct Sent {
  double label = 0;
  double begin = 0;
  double last_entry = 0;  ///< of a collective
  double end = 0;
};

std::vector<Sent> own_spans(const Trace& trace, collectives::Engine& engine) {
  const std::size_t count = std::min(trace.labels().size(), trace.spans().size());
  const std::vector<Span> spans(trace.spans().end() - static_cast<std::ptrdiff_t>(count), trace.spans().end());
  const std::vector<JointTime> joint = joint_times(trace.labels(), spans, trace.clock(), engine);
  std::vector<Sent> sent;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const double begin = trace.clock().common(spans[i].begin).value;
    const double end = trace.clock().common(spans[i].end).value;
    sent.push_back({static_cast<double>(spans[i].label), begin, joint[i].last_entry.value, end});
  }
  return sent;
}

Doing doing_of(const Label& label) {
  return label.communicates ? Doing::collective : is_product(label.kind) ? Doing::product : Doing::computation;
}

/// The spans of one rank. `zero` is when the first rank began. Spans with the same times ran as one
/// and become one.
std::vector<TimelineSpan> told(const std::vector<Sent>& sent, const std::vector<Label>& labels, double zero) {
  std::vector<TimelineSpan> spans;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Sent& each = sent[i];
    const Label& label = labels[static_cast<std::size_t>(each.label)];
    const Doing doing = doing_of(label);
    const bool again = i > 0 && sent[i - 1].begin == each.begin && sent[i - 1].end == each.end &&
                       doing_of(labels[static_cast<std::size_t>(sent[i - 1].label)]) == doing;
    if (again) continue;
    const double entry = doing == Doing::collective ? std::clamp(each.last_entry, each.begin, each.end) : each.begin;
    if (entry > each.begin) {
      spans.push_back({Doing::early, Seconds(each.begin - zero), Seconds(entry - zero), label.name});
    }
    spans.push_back({doing, Seconds(entry - zero), Seconds(each.end - zero), label.name});
  }
  return spans;
}

}  // namespace

TimelineFigure last_run(const Trace& trace, collectives::Engine& engine) {
  std::vector<Sent> own = own_spans(trace, engine);
  if (engine.mesh().rank() >= kMostRanksShown) own.clear();
  const std::string mine(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(Sent));
  std::vector<std::vector<Sent>> all;
  double zero = 0;
  bool some = false;
  for (const std::string& bytes : engine.mesh().comm().all_gather_bytes(mine)) {
    std::vector<Sent> spans(bytes.size() / sizeof(Sent));
    if (!spans.empty()) std::memcpy(spans.data(), bytes.data(), bytes.size());
    for (const Sent& span : spans) {
      zero = some ? std::min(zero, span.begin) : span.begin;
      some = true;
    }
    all.push_back(std::move(spans));
  }
  TimelineFigure timeline;
  for (std::size_t rank = 0; rank < all.size() && !all[rank].empty(); ++rank) {
    timeline.ranks.push_back({static_cast<Index>(rank), told(all[rank], trace.labels(), zero)});
  }
  return timeline;
}

}  // namespace shardline::tools
