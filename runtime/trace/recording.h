#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/trace/trace.h"

namespace shardline {

/// The direction of a message round its axis, if the algorithm sends along a ring.
enum class Heading : std::uint8_t { none, forward, backward };

/// Names one collective of a run; the same on all its ranks.
struct CollectiveNumber {
  int label = 0;   ///< of the operation
  int number = 0;  ///< among the collectives of this label in the run; an operation may be cut into several
};

/// One transfer of a schedule from one rank to another, in one or more segments. Both ends record
/// it. All fields except the last three are equal on both ends. The fields from `collective` to
/// `to` name the message uniquely within the run.
struct Message {
  CollectiveNumber collective{};
  int strand = 0;  ///< of the schedule
  int number = 0;  ///< among the messages of the strand between these two ranks
  Index from = 0;  ///< ranks of the mesh
  Index to = 0;
  Index bytes = 0;
  Heading heading = Heading::none;
  bool sends = false;   ///< this rank is `from`
  Seconds posted{};     ///< when MPI got its first segment
  Seconds completed{};  ///< when its last segment was seen to have arrived or, for `from`, to have left
};

/// The parts of `whole` that `taken` does not cover. `taken` lies inside `whole`, in order and
/// without overlap.
std::vector<TimeRange> outside(const std::vector<TimeRange>& taken, TimeRange whole);

/// Details of the latest runs of a program on one rank, for people to read. Bounded: it forgets
/// older runs.
class Recording {
 public:
  struct Limits {
    Index runs = 20;
    Index events = 100000;  ///< above this, older runs go too
  };
  /// A span, and the parts of it in which the rank computed. No parts: it computed all the time, or
  /// the span belongs to a collective.
  struct Work {
    Span span;
    std::vector<TimeRange> parts;
  };
  /// A time in which the rank only started a collective or waited for it.
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
    TimeRange time;    ///< an end of 0: not ended yet
    std::vector<Work> work{};
    std::vector<Wait> waits{};
    std::vector<Message> messages{};
    std::vector<Memory> memory{};

    Index events() const;
  };

  explicit Recording(Limits limits) : limits_(limits) {}

  /// Everything added from now on belongs to the new run.
  void begin_run();
  void end_run();
  void add(const Span& span, std::vector<TimeRange> parts = {});
  void add(const Wait& wait);
  void add(const Message& message);
  /// Notes the bytes of all arrays of this process, if they changed.
  void sample_memory();

  /// Collectives started from now on have this label.
  void enter(int label) { label_ = label; }
  /// Numbers the collective that starts now.
  CollectiveNumber next_collective() { return {label_, started_[label_]++}; }

  /// The runs that are kept, in order. All except the last have ended.
  const std::deque<Run>& runs() const { return runs_; }
  /// The number of runs that were forgotten.
  Index forgotten() const { return begun_ - static_cast<Index>(runs_.size()); }

 private:
  Run& run();
  void forget();

  Limits limits_;
  std::deque<Run> runs_;
  Index events_ = 0;  ///< of all runs except the last
  Index begun_ = 0;
  int label_ = 0;
  std::map<int, int> started_;  ///< collectives of the run, by label
};

}  // namespace shardline
