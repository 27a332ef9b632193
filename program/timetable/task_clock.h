#pragma once

#include <optional>
#include <vector>

#include "program/timetable/timing.h"

namespace shardline {

/// The clock of a simulated pipeline: tasks run one by one, in any order that respects their needs in a plain stack of
/// layers. Only the shape of the timetable is read, not its orders; it must outlive the clock.
class TaskClock {
 public:
  /// Throws UsageError as check_costs().
  TaskClock(const Timetable& shape, const TaskCosts& costs);

  /// When what `task` needs is there for its stage, busy or not; nothing before all of it has run.
  std::optional<Seconds> ready(const Task& task) const;
  /// When the stage of `task` begins it, or to receive for it, if it runs next. The task must be ready.
  Seconds next_begin(const Task& task) const;
  void run(const Task& task);
  /// What has run so far.
  const Timing& timing() const { return timing_; }

 private:
  /// What the task's stage itself receives for it.
  Seconds receiving(const Task& task) const;

  const Timetable& shape_;
  TaskCosts costs_;
  std::vector<std::vector<ChunkTask>> needs_;  ///< by number of the chunk's task
  std::vector<char> done_;                     ///< by task
  std::vector<char> started_;                  ///< by stage
  Timing timing_;
};

}  // namespace shardline
