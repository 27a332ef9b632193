#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "program/run/measure.h"
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
  std::string category;  ///< "step", "compute", "waiting", "early", "collective" or "message"
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

/// The input of events_of().
struct RankStory {
  AbstractMesh mesh;
  Index rank = 0;
  const Trace* trace = nullptr;             ///< the labels and the clock
  std::vector<const Recording::Run*> runs;  ///< in order
  std::vector<JointTime> joint;             ///< one per span of all runs, in order
  Seconds zero;                             ///< zero of the trace, by rank 0's clock
};

/// The spans of all runs of a story, in order.
std::vector<Span> spans_of(const std::vector<const Recording::Run*>& runs);

/// Lanes in display order: steps, computation, waiting. Then, for each set of axes, the
/// collectives, and the messages of each direction. A slice that would overlap goes into a further
/// lane with the same name.
RankEvents events_of(const RankStory& story);

}  // namespace shardline::tools
