#pragma once

#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// The times that the ranks measured for one span, as one. A computation takes as long as on its slowest rank. A
/// collective takes from the last entry to the last exit over the ranks of its axes, in the slowest such group.
struct JointTime {
  Seconds taken;        ///< equal on every rank; of all operations that ran as one
  Seconds last_entry;   ///< of a collective: when the last of this rank's group entered, by rank 0's clock
  Index last_rank = 0;  ///< which one that was; the lowest such rank of the mesh
};

/// Collective over the mesh of `engine`; every rank must have recorded spans of the same labels in the same order.
/// `clock` is the one by which this rank did. Never negative, since the rank that enters last leaves later than that.
std::vector<JointTime> joint_times(const std::vector<Label>& labels, const std::vector<Span>& spans,
                                   const ClockAlignment& clock, collectives::Engine& engine);

/// The times that the ranks measured for one label, over all its spans.
struct Measured {
  int count = 0;                      ///< spans
  Seconds total;                      ///< of all spans together
  Seconds exposed;                    ///< of the rank that waited longest, all spans together
  std::vector<Seconds> of_rank = {};  ///< all spans together, as each rank of the mesh saw them
};

/// Collective over the mesh of `engine`: joint_times() of the trace's spans, summed by label; operations that ran as
/// one share its time. Those of collectives may be wrong by twice the uncertainty of the clocks. Equal on every rank.
std::vector<Measured> measure(const Trace& trace, collectives::Engine& engine);

/// How far collectives went on beside computation.
struct Overlap {
  Seconds in_flight;  ///< while any collective was in flight, on the rank where that was longest
  Seconds alone;      ///< what they are predicted to take one after the other with nothing beside them
  Seconds exposed;    ///< spent on waiting, starting and polling, on the rank that spent most
  /// Share of the communication that was hidden, on the rank with the smallest share. It is the smaller of two values:
  /// - 1 - exposed / in_flight. A rank that only waits hides nothing.
  /// - 1 - exposed / alone. Time in a queue, or before the next poll, does not count as hidden.
  double hidden = 0;
};

/// Collective over the mesh of `engine`, over all spans of the trace.
Overlap measure_overlap(const Trace& trace, collectives::Engine& engine);

/// Operations of one kind and axis together.
struct KindSummary {
  std::string kind;
  std::string axis;
  int count = 0;
  Bytes bytes;
  Bytes wire_bytes;
  Flops flops;
  Seconds measured;
  Seconds exposed;
  Seconds predicted;
  Seconds math;          ///< of the predicted time: FLOPs over what each operation can reach,
  Seconds memory;        ///< bytes over memory bandwidth,
  Seconds comms;         ///< and between ranks
  std::string limiter;   ///< that of the largest share of the predicted time
  int slowest_rank = 0;  ///< the rank that spent most time on them
  Seconds slowest;       ///< its time
  Seconds fastest;       ///< the time of the rank that spent least
  double ratio() const { return predicted.value > 0 ? measured.value / predicted.value : 0; }
};

/// Operations below this share of the measured time are listed apart: their ratios say little.
inline constexpr double kSmallShare = 0.01;

/// Sums by kind and axis, worst first: of those that take at least kSmallShare of the measured time the largest ratio
/// first, then likewise the others.
std::vector<KindSummary> summarise(const std::vector<Label>& labels, const std::vector<Measured>& measured);

/// The table of summaries, in their order: count, bytes, FLOPs, measured, predicted, ratio and limiter by kind.
std::string table(const std::vector<KindSummary>& summaries);

}  // namespace shardline
