#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "program/timetable/timing.h"

namespace shardline {

/// The clock of a simulated pipeline: tasks run one by one, in any order that respects their needs in a plain stack of
/// layers. Only the shape of the timetable is read, not its orders; it must outlive the clock.
class TaskClock {
 public:
  /// Throws UsageError as check_costs().
  TaskClock(const Timetable& shape, const TaskCosts& costs);
  /// With a time for each task, by number_of(shape, task), and moves for nothing. Throws UsageError unless each task
  /// has a finite time, 0 or more.
  TaskClock(const Timetable& shape, std::vector<Seconds> times);

  /// When the stage of `task` begins it, or to receive for it, if it runs next: what it needs is there and the stage
  /// has nothing else to do. Nothing before all that it needs has run.
  std::optional<Seconds> next_begin(const Task& task) const;
  /// Runs a task that has a next_begin().
  void run(const Task& task);
  /// What has run; the clock is used up.
  Timing take() { return std::move(timing_); }

 private:
  /// What the task's stage itself receives for it.
  Seconds receiving(const Task& task) const;

  const Timetable& shape_;
  std::vector<Seconds> times_;  ///< by task
  Seconds move_;                ///< see TaskCosts
  bool frees_cores_ = true;
  std::vector<std::vector<ChunkTask>> needs_;  ///< by number of the chunk's task
  std::vector<char> done_;                     ///< by task
  std::vector<char> started_;                  ///< by stage
  Timing timing_;
};

}  // namespace shardline
