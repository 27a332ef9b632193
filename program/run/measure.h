#pragma once

#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// The times of one span on all ranks, joined into one. A computation takes the time of its slowest
/// rank. A collective takes the time from the last entry to the last exit over the ranks of its
/// axes, in the slowest group.
struct JointTime {
  Seconds taken;        ///< equal on every rank; of all operations that ran as one
  Seconds last_entry;   ///< for a collective: the last entry in this rank's group, by rank 0's clock
  Index last_rank = 0;  ///< the mesh rank of that entry; the lowest if there are several
};

/// Collective over the mesh of `engine`. Every rank must have spans of the same labels in the same
/// order. `clock` is the clock of this rank's spans. Times are never negative: the rank that enters
/// last leaves later.
std::vector<JointTime> joint_times(const std::vector<Label>& labels, const std::vector<Span>& spans,
                                   const ClockAlignment& clock, collectives::Engine& engine);

/// The measured times of one label, over all its spans.
struct Measured {
  int count = 0;                      ///< spans
  Seconds total;                      ///< sum over all spans
  Seconds median;                     ///< of the spans; 0 if there are none
  Seconds exposed;                    ///< of the rank that waited longest, sum over all spans
  std::vector<Seconds> of_rank = {};  ///< on each rank of the mesh, sum over all spans
};

/// Collective over the mesh of `engine`: joint_times() of the trace's spans, summed by label.
/// Operations that ran as one share its time. Times of collectives may be wrong by twice the clock
/// uncertainty. Equal on every rank.
std::vector<Measured> measure(const Trace& trace, collectives::Engine& engine);

/// How far collectives ran beside computation.
struct Overlap {
  Seconds in_flight;  ///< time with a collective in flight, on the rank with the longest
  Seconds alone;      ///< predicted time of all collectives, one after another, with nothing beside them
  Seconds exposed;    ///< time for waiting, starting and polling, on the rank with the most
  /// Share of the communication that was hidden, on the rank with the smallest share. It is the smaller of two values:
  /// - 1 - exposed / in_flight. A rank that only waits hides nothing.
  /// - 1 - exposed / alone. Time in a queue, or before the next poll, does not count as hidden.
  double hidden = 0;
};

/// Collective over the mesh of `engine`, over all spans of the trace.
Overlap measure_overlap(const Trace& trace, collectives::Engine& engine);

/// The operations of one kind and axis, summed.
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
  Seconds math;          ///< parts of the predicted time: FLOPs over the reachable FLOP/s,
  Seconds memory;        ///< bytes over memory bandwidth,
  Seconds comms;         ///< and time between ranks
  std::string limiter;   ///< the limiter of the largest share of the predicted time
  int slowest_rank = 0;  ///< the rank with the most time in them
  Seconds slowest;       ///< its time
  Seconds fastest;       ///< the time of the fastest rank
  double ratio() const { return predicted.value > 0 ? measured.value / predicted.value : 0; }
};

/// Operations below this share of the measured time are listed last: their ratios say little.
inline constexpr double kSmallShare = 0.01;

/// Sums by kind and axis, worst first. Operations with at least kSmallShare of the measured time
/// come first, sorted by ratio, largest first. Then the others, sorted in the same way.
std::vector<KindSummary> summarise(const std::vector<Label>& labels, const std::vector<Measured>& measured);

/// The table of the summaries, in order: count, bytes, FLOPs, measured, predicted, ratio and
/// limiter by kind.
std::string table(const std::vector<KindSummary>& summaries);

}  // namespace shardline
