#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// Which way round its axis a message goes, where an algorithm sends along a ring.
enum class Heading : std::uint8_t { none, forward, backward };

/// One of the collectives of a run, the same on all its ranks.
struct CollectiveNumber {
  int label = 0;   ///< of the operation
  int number = 0;  ///< among the collectives of that label in the run: an operation may be cut into several
};

/// One transfer of a schedule from one rank to another, in one or more segments. Both ends record it. All fields but
/// the last three are equal on both, and the fields from `collective` to `to` name the message uniquely within the run.
struct Message {
  CollectiveNumber collective{};
  int strand = 0;  ///< of the schedule
  int number = 0;  ///< among the messages of the strand from the one rank to the other
  Index from = 0;  ///< ranks of the mesh
  Index to = 0;
  Index bytes = 0;
  Heading heading = Heading::none;
  bool sends = false;   ///< this rank is `from`
  Seconds posted{};     ///< when its first segment was given to MPI
  Seconds completed{};  ///< when its last was seen to have arrived or, of `from`, to be gone
};

/// The parts of `whole` outside `taken`, which lie in it, in order and apart.
std::vector<TimeRange> outside(const std::vector<TimeRange>& taken, TimeRange whole);

/// Details of the latest runs of a program on one rank, for people to look at. Bounded: older runs are forgotten.
class Recording {
 public:
  struct Limits {
    Index runs = 20;
    Index events = 100000;  ///< beyond which older runs go as well
  };
  /// A span and the parts of it in which the rank computed; none: it did so all the time, or the span is a
  /// collective's.
  struct Work {
    Span span;
    std::vector<TimeRange> parts;
  };
  /// While the rank did nothing but start a collective or wait for it.
  struct Wait {
    int label = 0;
    TimeRange time;
  };
  struct Memory {
    Seconds at;
    Index bytes = 0;  ///< of all arrays of the rank
  };
  struct Run {
    Index number = 0;  ///< counted from 1
    TimeRange time;    ///< an end of 0: it has not ended
    std::vector<Work> work{};
    std::vector<Wait> waits{};
    std::vector<Message> messages{};
    std::vector<Memory> memory{};

    Index events() const;
  };

  explicit Recording(Limits limits) : limits_(limits) {}

  /// What is added from now on belongs to the next run.
  void begin_run();
  void end_run();
  void add(const Span& span, std::vector<TimeRange> parts = {});
  void add(const Wait& wait);
  void add(const Message& message);
  /// Notes the bytes of all arrays of this process, if they have changed.
  void sample_memory();

  /// Collectives that are started from now on are of this label.
  void enter(int label) { label_ = label; }
  /// Counts a collective that is started.
  CollectiveNumber next_collective() { return {label_, started_[label_]++}; }

  /// Those that are kept, in order; all but the last have ended.
  const std::deque<Run>& runs() const { return runs_; }
  /// How many runs there were before the oldest that is kept.
  Index forgotten() const { return begun_ - static_cast<Index>(runs_.size()); }

 private:
  Run& run();
  void forget();

  Limits limits_;
  std::deque<Run> runs_;
  Index events_ = 0;  ///< of all runs but the last
  Index begun_ = 0;
  int label_ = 0;
  std::map<int, int> started_;  ///< collectives of the run, by label
};

}  // namespace shardline
