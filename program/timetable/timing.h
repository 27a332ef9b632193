#pragma once

#include <vector>

#include "program/timetable/task_costs.h"
#include "program/timetable/timetable.h"
#include "runtime/base/units.h"

namespace shardline {

/// What a stage does with its time.
struct StageTime {
  Seconds first;   ///< when it begins its first task, or to receive what this needs
  Seconds last;    ///< when it ends its last task
  Seconds busy;    ///< its tasks, and receiving where that needs the cores
  Seconds moving;  ///< receiving where that needs the cores

  /// Time with nothing to do between its own first begin and last end: what papers call the bubble of a stage.
  Seconds idle() const { return last - first - busy; }
};

/// The time of one run of a timetable. Arrays by task are indexed by number_of(timetable, task).
struct Timing {
  std::vector<Seconds> begin = {};      ///< by task
  std::vector<Seconds> end = {};        ///< by task
  std::vector<Seconds> receiving = {};  ///< by task: what its stage receives just before it with its own cores
  std::vector<Task> tasks = {};         ///< all tasks; each stands behind all that it needs, and in its stage's order
  std::vector<StageTime> stages = {};
  Seconds makespan = {};  ///< when the last task ends

  /// The longest StageTime::idle().
  Seconds idle() const;
  /// The share of all stages' time in which they do nothing, from the begin to the makespan. A training step waits for
  /// the last stage, so this counts, and not idle().
  double bubble() const;
};

/// Simulates a plain stack of layers: every stage does its tasks in order, each as soon as what it needs is there;
/// nobody waits to send. Takes linear time. Throws UsageError as check_costs(), and Error if the orders wait for each
/// other in a circle.
Timing timed(const Timetable& timetable, const TaskCosts& costs);

/// The same with a time for each task, indexed by number_of(timetable, task); moves take no time.
Timing timed_by_task(const Timetable& timetable, const std::vector<Seconds>& times);

/// What a stage keeps between its tasks, at most at one time.
struct Held {
  Index activations = 0;  ///< chunks between F and the last task that reads what it left: B, or W where split
  Index gradients = 0;    ///< of these, chunks between I and W: they also hold what W needs
  bool operator==(const Held&) const = default;
};

/// By stage. Follows from the orders alone.
std::vector<Held> held(const Timetable& timetable);

}  // namespace shardline
