#include "runtime/trace/recording.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/layout/tensor.h"

namespace shardline {

std::vector<TimeRange> outside(const std::vector<TimeRange>& taken, TimeRange whole) {
  std::vector<TimeRange> parts;
  Seconds covered = whole.begin;
  for (const TimeRange& range : taken) {
    if (range.begin > covered) parts.push_back({covered, range.begin});
    covered = range.end;
  }
  if (whole.end > covered) parts.push_back({covered, whole.end});
  return parts;
}

Index Recording::Run::events() const {
  std::size_t count = waits.size() + messages.size() + memory.size();
  for (const Work& each : work) count += 1 + each.parts.size();
  return static_cast<Index>(count);
}

void Recording::begin_run() {
  if (!runs_.empty()) events_ += runs_.back().events();
  runs_.emplace_back();
  runs_.back().number = ++begun_;
  runs_.back().time.begin = now();
  forget();
  started_.clear();
  sample_memory();
}

/// Called before a run begins, so all earlier runs are complete.
void Recording::forget() {
  while (static_cast<Index>(runs_.size()) > limits_.runs || (runs_.size() > 1 && events_ > limits_.events)) {
    events_ -= runs_.front().events();
    runs_.pop_front();
  }
}

void Recording::end_run() { run().time.end = now(); }

void Recording::add(const Span& span, std::vector<TimeRange> parts) { run().work.push_back({span, std::move(parts)}); }

void Recording::add(const Wait& wait) { run().waits.push_back(wait); }

void Recording::add(const Message& message) { run().messages.push_back(message); }

void Recording::sample_memory() {
  std::vector<Memory>& samples = run().memory;
  const Index bytes = tensor_memory().now;
  if (samples.empty() || samples.back().bytes != bytes) samples.push_back({now(), bytes});
}

Recording::Run& Recording::run() {
  SHARDLINE_CHECK(!runs_.empty(), "an event of a run before any has begun");
  return runs_.back();
}

}  // namespace shardline
