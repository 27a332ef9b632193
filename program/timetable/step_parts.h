#pragma once

#include <vector>

#include "program/timetable/timetable.h"
#include "runtime/base/units.h"

namespace shardline {

/// Where the time of a training step goes on a stage. The parts add up to the time of the step.
struct StepParts {
  Seconds computing;      ///< its own tasks and its update
  Seconds start_and_end;  ///< idle as in the even timetable: others have not begun yet, or have the last tasks
  Seconds uneven;         ///< idle beyond that, because tasks and updates take longer on other stages
  Seconds moves;          ///< the rest: moves between stages, and waiting for them

  Seconds lost() const { return start_and_end + uneven + moves; }
  Seconds step() const { return computing + lost(); }
};

/// The times of a training step, measured or predicted.
struct StepTimes {
  std::vector<Seconds> tasks;   ///< by number_of(timetable, task), without moves
  std::vector<Seconds> update;  ///< by stage, without moves
  Seconds step;                 ///< from the begin of the first stage to the end of the last one
};

/// By stage. Two simulations without moves say what is lost: the even timetable, in which all tasks of a kind take
/// their mean time and all updates theirs, and the true one, with the given times. A stage that is idle for longer in
/// the even timetable than in the true one, or than in the step, lost no more than the latter to start and end; so no
/// part is negative. Throws UsageError unless there is a finite time, 0 or more, for each task and each stage.
std::vector<StepParts> parts_of_step(const Timetable& timetable, const StepTimes& times);

/// The mean of all stages.
StepParts mean(const std::vector<StepParts>& parts);

}  // namespace shardline
