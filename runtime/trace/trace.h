#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/layout/axes.h"
#include "runtime/trace/clock.h"

namespace shardline {

/// One timed operation, described once, however often it runs. Fields that do not apply are zero or
/// empty.
struct Label {
  std::string name{};
  std::string kind{};     ///< such as "einsum" or "all_gather"
  Axes axes{};            ///< mesh axes that a collective goes over
  std::string limiter{};  ///< the predicted bottleneck
  bool communicates = false;
  bool fused = false;  ///< runs fused with its neighbour, panel by panel
  bool swept = false;  ///< runs together with its neighbours, strip by strip
  Bytes bytes{};       ///< memory or buffer bytes that the operation touches
  Bytes wire_bytes{};  ///< bytes leaving the busiest rank in its busiest direction
  Flops flops{};
  Seconds predicted{};
  Seconds math{};    ///< predicted parts: FLOPs over the reachable FLOP/s,
  Seconds memory{};  ///< bytes over memory bandwidth,
  Seconds comms{};   ///< and time between ranks
};

/// One run of an operation on one rank, in times of that rank's now().
struct Span {
  int label = 0;  ///< position in Trace::labels()
  Seconds begin{};
  Seconds end{};
  Seconds exposed{};  ///< time that the rank really waited
  int together = 1;   ///< operations that ran as one; each has its own span, and they share the time equally
};

/// The spans of one rank in the order of recording, and the alignment of its clock.
class Trace {
 public:
  /// Adds a label; returns its number.
  int describe(Label label) {
    labels_.push_back(std::move(label));
    return static_cast<int>(labels_.size()) - 1;
  }
  void record(const Span& span) { spans_.push_back(span); }
  const std::vector<Label>& labels() const { return labels_; }
  const std::vector<Span>& spans() const { return spans_; }
  /// Forgets the spans and keeps the labels.
  void clear_spans() { spans_.clear(); }
  /// Forgets the oldest spans, so that at most `count` are left.
  void keep_last(std::size_t count) {
    if (spans_.size() > count) spans_.erase(spans_.begin(), spans_.end() - static_cast<std::ptrdiff_t>(count));
  }
  /// The time that the rank waited in the last run, whose spans are one for each label.
  Seconds waited_in_last_run() const {
    Seconds waited{};
    const std::size_t count = std::min(labels_.size(), spans_.size());
    for (std::size_t i = spans_.size() - count; i < spans_.size(); ++i) waited += spans_[i].exposed;
    return waited;
  }

  void align(const ClockReading& reading) { clock_.add(reading); }
  /// The clock of the spans.
  const ClockAlignment& clock() const { return clock_; }

 private:
  std::vector<Label> labels_;
  std::vector<Span> spans_;
  ClockAlignment clock_;
};

}  // namespace shardline
