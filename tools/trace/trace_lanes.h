#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/run/measure.h"
#include "program/timetable/timing.h"
#include "runtime/layout/abstract_mesh.h"
#include "runtime/trace/recording.h"
#include "tools/job.h"

namespace shardline::tools {

/// Times in a trace file, in whole units of 1/64 us. Doubles and viewers with nanoseconds keep
/// their order.
using Ticks = std::int64_t;
inline constexpr double kTicksPerSecond = 64e6;
inline double microseconds_of(Ticks ticks) { return static_cast<double>(ticks) * (1e6 / kTicksPerSecond); }

/// One end of an arrow between two slices.
struct ArrowEnd {
  std::string id;  ///< equal on the two ends, and nowhere else
  bool tail = false;
};

/// A period of time in a lane.
struct Slice {
  Ticks begin = 0;
  Ticks end = 0;
  std::string name;
  /// "step", "task", "compute", "waiting", "early", "collective", "message", or "prediction" of a task
  std::string category;
  Json arguments;
  std::vector<ArrowEnd> arrows{};  ///< a tail at its begin or a head at its end; at most one
};

/// Slices in order, without overlap.
struct Lane {
  std::string name;
  std::vector<Slice> slices;
};

/// The content of a trace for one rank.
struct RankEvents {
  struct Memory {
    Ticks at = 0;
    Index bytes = 0;
  };
  std::vector<Lane> lanes;
  std::vector<Memory> memory;
};

/// The stage of a pipeline to which a rank belongs.
struct TracedStage {
  Axis axis;  ///< of the stages
  int stage = 0;
  Timetable timetable;
  Timing predicted;                        ///< of the timetable
  std::vector<std::optional<Task>> tasks;  ///< by label, see WrittenOut
  std::vector<int> moves;                  ///< by label: the number of a move, equal at both ends; -1 for other steps
};

/// The input of events_of().
struct RankStory {
  AbstractMesh mesh;
  Index rank = 0;
  const Trace* trace = nullptr;             ///< the labels and the clock
  std::vector<const Recording::Run*> runs;  ///< in order
  std::vector<JointTime> joint;             ///< one per span of all runs, in order
  Seconds zero;                             ///< zero of the trace, by rank 0's clock
  const TracedStage* stage = nullptr;       ///< null: no pipeline; messages then name ranks of the mesh
  std::vector<Seconds> begins = {};         ///< with a stage, by run: when its first rank began, by rank 0's clock
};

/// The spans of all runs of a story, in order.
std::vector<Span> spans_of(const std::vector<const Recording::Run*>& runs);

/// Lanes in display order: steps; with a stage its tasks, and beside them their prediction from the begin of the step
/// on; computation, waiting. Then, for each set of axes, the
/// collectives, and the messages of each direction. A slice that would overlap goes into a further
/// lane with the same name.
RankEvents events_of(const RankStory& story);

}  // namespace shardline::tools
