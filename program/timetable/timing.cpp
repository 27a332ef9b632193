#include "program/timetable/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "program/timetable/task_clock.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Where each stage stands that has tasks left: "stage 0 at B0, stage 1 at F1".
std::string standing_tasks(const Timetable& timetable, const std::vector<std::size_t>& at) {
  std::string text;
  for (std::size_t z = 0; z < at.size(); ++z) {
    const std::vector<Task>& order = timetable.orders[z];
    if (at[z] == order.size()) continue;
    text += fmt::format("{}stage {} at {}", text.empty() ? "" : ", ", z, to_string(timetable, order[at[z]]));
  }
  return text;
}

Timing run_in_order(TaskClock clock, const Timetable& timetable) {
  std::vector<std::size_t> at(timetable.orders.size(), 0);
  std::size_t left = 0;
  for (const std::vector<Task>& order : timetable.orders) left += order.size();
  while (left > 0) {
    const std::size_t before = left;
    for (std::size_t z = 0; z < at.size(); ++z) {
      const std::vector<Task>& order = timetable.orders[z];
      for (; at[z] < order.size() && clock.next_begin(order[at[z]]); ++at[z], --left) clock.run(order[at[z]]);
    }
    if (left == before) throw Error("timetable: its stages wait for each other: " + standing_tasks(timetable, at));
  }
  return clock.take();
}

}  // namespace

Seconds Timing::idle() const {
  Seconds longest;
  for (const StageTime& stage : stages) longest = std::max(longest, stage.idle());
  return longest;
}

double Timing::bubble() const {
  if (makespan <= Seconds(0)) return 0;
  Seconds busy;
  for (const StageTime& stage : stages) busy += stage.busy;
  return 1 - busy / (makespan * static_cast<double>(stages.size()));
}

Timing timed(const Timetable& timetable, const TaskCosts& costs) {
  return run_in_order(TaskClock(timetable, costs), timetable);
}

Timing timed_by_task(const Timetable& timetable, const std::vector<Seconds>& times) {
  return run_in_order(TaskClock(timetable, times), timetable);
}

std::vector<Held> held(const Timetable& timetable) {
  const TaskKind last = last_kind(timetable);
  std::vector<Held> most;
  for (const std::vector<Task>& order : timetable.orders) {
    Held now, peak;
    for (const Task& task : order) {
      if (task.kind == TaskKind::forward) ++now.activations;
      if (task.kind == TaskKind::inputs) ++now.gradients;
      peak = {std::max(peak.activations, now.activations), std::max(peak.gradients, now.gradients)};
      if (task.kind == last) --now.activations;
      if (task.kind == TaskKind::weights) --now.gradients;
    }
    most.push_back(peak);
  }
  return most;
}

}  // namespace shardline
