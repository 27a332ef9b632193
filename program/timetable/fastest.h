#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "program/timetable/named.h"
#include "program/timetable/timing.h"

namespace shardline {

struct FastestQuestion {
  int stages = 1;
  Index micro_batches = 1;
  /// What the tasks take if every stage has this many chunks.
  std::function<TaskCosts(int chunks_per_stage)> costs;
  /// True if what each stage holds fits in its memory.
  std::function<bool(const Timetable& timetable, const std::vector<Held>& held)> fits;
};

struct FastestTimetable {
  std::string name;
  Timetable timetable;
  Timing timing;
};

/// The named timetable with the shortest simulated makespan among those that fit; of those that take equally long, up
/// to rounding, the first of timetable_rows(). Nothing if none fits. Pure: depends on its arguments alone. Throws
/// UsageError as make_timetable().
std::optional<FastestTimetable> fastest(const FastestQuestion& question);

}  // namespace shardline
