#include "tools/trace/last_run.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

#include "program/run/measure.h"
#include "tools/job.h"
#include "tools/report/operation_row.h"

namespace shardline::tools {
namespace {

/// A span by rank 0's clock.
struct ToldSpan {
  Doing doing = Doing::computation;
  double begin = 0;
  double last_entry = 0;  ///< of a collective
  double end = 0;
  std::string name;
};

Doing doing_of(const Label& label) {
  return label.communicates ? Doing::collective : is_product(label.kind) ? Doing::product : Doing::computation;
}

std::vector<ToldSpan> own_spans(const Trace& trace, collectives::Engine& engine) {
  const std::size_t count = std::min(trace.labels().size(), trace.spans().size());
  const std::vector<Span> spans(trace.spans().end() - static_cast<std::ptrdiff_t>(count), trace.spans().end());
  const std::vector<JointTime> joint = joint_times(trace.labels(), spans, trace.clock(), engine);
  std::vector<ToldSpan> told;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Label& label = trace.labels()[static_cast<std::size_t>(spans[i].label)];
    told.push_back({doing_of(label), trace.clock().common(spans[i].begin).value, joint[i].last_entry.value,
                    trace.clock().common(spans[i].end).value, label.name});
  }
  return told;
}

/// The ranks of several stages have different labels. So a rank sends names.
std::string text_of(const std::vector<ToldSpan>& spans) {
  Json all = Json::array();
  for (const ToldSpan& each : spans) all.push_back({each.doing, each.begin, each.last_entry, each.end, each.name});
  return all.dump();
}

std::vector<ToldSpan> spans_of(const std::string& text) {
  std::vector<ToldSpan> spans;
  for (const Json& each : Json::parse(text)) spans.push_back({each[0], each[1], each[2], each[3], each[4]});
  return spans;
}

/// The spans of one rank. `zero` is when the first rank began. Spans with the same times ran as one
/// and become one.
std::vector<TimelineSpan> drawn_spans(const std::vector<ToldSpan>& told, double zero) {
  std::vector<TimelineSpan> spans;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const ToldSpan& each = told[i];
    const ToldSpan* before = i > 0 ? &told[i - 1] : nullptr;
    if (before != nullptr && before->begin == each.begin && before->end == each.end && before->doing == each.doing) {
      continue;
    }
    const bool collective = each.doing == Doing::collective;
    const double entry = collective ? std::clamp(each.last_entry, each.begin, each.end) : each.begin;
    if (entry > each.begin) {
      spans.push_back({Doing::early, Seconds(each.begin - zero), Seconds(entry - zero), each.name});
    }
    spans.push_back({each.doing, Seconds(entry - zero), Seconds(each.end - zero), each.name});
  }
  return spans;
}

}  // namespace

TimelineFigure last_run(const Trace& trace, collectives::Engine& engine, const mpi::Communicator& world) {
  std::vector<ToldSpan> own = own_spans(trace, engine);
  if (world.rank() >= kMostRanksShown) own.clear();
  std::vector<std::vector<ToldSpan>> all;
  double zero = std::numeric_limits<double>::infinity();
  for (const std::string& text : world.all_gather_bytes(text_of(own))) {
    all.push_back(spans_of(text));
    for (const ToldSpan& span : all.back()) zero = std::min(zero, span.begin);
  }
  TimelineFigure timeline;
  for (std::size_t rank = 0; rank < all.size() && !all[rank].empty(); ++rank) {
    timeline.ranks.push_back({static_cast<Index>(rank), drawn_spans(all[rank], zero)});
  }
  return timeline;
}

}  // namespace shardline::tools
