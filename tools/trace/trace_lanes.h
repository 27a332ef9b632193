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

/// Times in a trace file: whole numbers of 1/64 us, which doubles and viewers that count in nanoseconds keep in order.
using Ticks = std::int64_t;
inline constexpr double kTicksPerSecond = 64e6;
inline double microseconds_of(Ticks ticks) { return static_cast<double>(ticks) * (1e6 / kTicksPerSecond); }

/// One end of an arrow between two slices.
struct ArrowEnd {
  std::string id;  ///< equal on both ends, and on no others
  bool tail = false;
};

/// Something that lasted, as it stands in a lane.
struct Slice {
  Ticks begin = 0;
  Ticks end = 0;
  std::string name;
  std::string category;  ///< "step", "compute", "waiting", "early", "collective" or "message"
  Json arguments;
  std::vector<ArrowEnd> arrows{};  ///< a tail at its begin, a head at its end; at most one
};

/// Slices in order, none of which overlap.
struct Lane {
  std::string name;
  std::vector<Slice> slices;
};

/// What a trace tells of one rank.
struct RankEvents {
  struct Memory {
    Ticks at = 0;
    Index bytes = 0;
  };
  std::vector<Lane> lanes;
  std::vector<Memory> memory;
};

/// What that is made from.
struct RankStory {
  AbstractMesh mesh;
  Index rank = 0;
  const Trace* trace = nullptr;             ///< the labels and the clock
  std::vector<const Recording::Run*> runs;  ///< in order
  std::vector<JointTime> joint;             ///< of the spans of all runs, one after the other
  Seconds zero;                             ///< of the trace, by rank 0's clock
};

/// The spans of all runs of a story, one after the other.
std::vector<Span> spans_of(const std::vector<const Recording::Run*>& runs);

/// Lanes in the order in which they are shown: steps, computation, waiting, then of each set of axes the collectives
/// and the messages of each direction. A slice that would overlap another in its lane is in a further lane of that
/// name.
RankEvents events_of(const RankStory& story);

}  // namespace shardline::tools
