#pragma once

#include <string>
#include <vector>

#include "collectives/run/progress.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// What the ranks measured of one span together. A computation takes as long as on the slowest rank, a collective from
/// the last entry to the last exit over the ranks of its axes, in the slowest of such groups.
struct JointTime {
  Seconds taken;        ///< equal on every rank; of all operations that ran as one
  Seconds last_entry;   ///< of a collective: when the last of this rank's group entered, by rank 0's clock
  Index last_rank = 0;  ///< which one that was; the lowest such rank of the mesh
};

/// Collective over the mesh of `engine`; every rank must have recorded spans of the same labels in the same order.
/// `clock` is the one by which this rank did. Never negative, since the rank that enters last leaves later than that.
std::vector<JointTime> joint_times(const std::vector<Label>& labels, const std::vector<Span>& spans,
                                   const ClockAlignment& clock, collectives::Engine& engine);

/// What the ranks measured of one label, over all its spans.
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
  Seconds exposed;    ///< that the rank with most of it spent on them: waiting, starting and polling
  /// Share of the communication that was hidden, on the rank where it was least. The smaller of two: of the time in
  /// flight the part that was not exposed, so that a rank which only waits hides nothing; and of the time alone the
  /// part that exceeds what was exposed, so that standing in a queue or being looked after late is no hiding.
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
  int slowest_rank = 0;  ///< that spent most on them
  Seconds slowest;       ///< what it spent
  Seconds fastest;       ///< what the rank spent that spent least
  double ratio() const { return predicted.value > 0 ? measured.value / predicted.value : 0; }
};

/// Below this share of the measured time operations are listed apart: a ratio says little of what takes no time.
inline constexpr double kSmallShare = 0.01;

/// Sums by kind and axis, worst first: of those that take at least kSmallShare of the measured time the largest ratio
/// first, then likewise the others.
std::vector<KindSummary> summarise(const std::vector<Label>& labels, const std::vector<Measured>& measured);

/// The table of summaries, in their order: count, bytes, FLOPs, measured, predicted, ratio and limiter by kind.
std::string table(const std::vector<KindSummary>& summaries);

}  // namespace shardline
