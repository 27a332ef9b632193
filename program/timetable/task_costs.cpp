#include "program/timetable/task_costs.h"

#include <cmath>

#include "runtime/base/check.h"

namespace shardline {

void check_task_time(Seconds time, const std::string& of) {
  require(std::isfinite(time.value) && time.value >= 0,
          "costs of tasks: {} takes {} s; legal is a finite time, 0 or more", of, time.value);
}

const std::vector<Seconds>& costs_of(const TaskCosts& costs, TaskKind kind) {
  switch (kind) {
    case TaskKind::forward:
      return costs.forward;
    case TaskKind::backward:
      return costs.backward;
    case TaskKind::inputs:
      return costs.inputs;
    case TaskKind::weights:
      return costs.weights;
  }
  SHARDLINE_CHECK(false, "a task of kind {}", static_cast<int>(kind));
}

void check_costs(const TaskCosts& costs, const std::vector<TaskKind>& kinds, int chunks) {
  check_task_time(costs.move, "a move");
  for (const TaskKind kind : kinds) {
    const std::vector<Seconds>& times = costs_of(costs, kind);
    require(static_cast<int>(times.size()) == chunks, "costs of tasks: {} has {} chunks; the timetable has {}",
            to_string(kind), times.size(), chunks);
    for (const Seconds time : times) check_task_time(time, to_string(kind));
  }
}

}  // namespace shardline
