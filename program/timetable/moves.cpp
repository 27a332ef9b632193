#include "program/timetable/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// A task, or its move to the stage `to`, in the common order.
struct CommonEvent {
  Seconds at;
  Task task;
  int to = -1;  ///< -1: the task itself
};

/// Of events at the same time, those of a task stand behind those of what it needs, as in Timing::tasks.
std::vector<CommonEvent> common_order(const Timetable& timetable, const Timing& timing, const Sends& sends) {
  std::vector<CommonEvent> events;
  events.reserve(2 * timing.tasks.size());
  for (const Task& task : timing.tasks) {
    const std::size_t number = number_of(timetable, task);
    events.push_back({timing.begin[number], task});
    const auto found = sends.find(task.of_chunk());
    if (found == sends.end()) continue;
    for (const int to : found->second) events.push_back({timing.end[number], task, to});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const CommonEvent& a, const CommonEvent& b) { return a.at < b.at; });
  return events;
}

}  // namespace

Sends chain(const Timetable& timetable) {
  Sends sends;
  for (const TaskKind kind : timetable.kinds) {
    if (kind == TaskKind::weights) continue;
    for (int q = 0; q < timetable.chunks(); ++q) {
      const int reader = kind == TaskKind::forward ? q + 1 : q - 1;
      if (reader < 0 || reader == timetable.chunks()) continue;
      const int to = timetable.place[static_cast<std::size_t>(reader)];
      if (to != timetable.place[static_cast<std::size_t>(q)]) sends[{kind, q}] = {to};
    }
  }
  return sends;
}

std::string to_string(const Timetable& timetable, const Event& event) {
  const std::string task = to_string(timetable, event.task);
  switch (event.kind) {
    case EventKind::run:
      return "runs " + task;
    case EventKind::send:
      return fmt::format("sends {} to stage {}", task, event.peer);
    case EventKind::receive:
      return fmt::format("receives {} from stage {}", task, event.peer);
  }
  SHARDLINE_CHECK(false, "an event of kind {}", static_cast<int>(event.kind));
}

StageEvents with_moves(const Timetable& timetable, const Timing& timing, const Sends& sends) {
  check_sends(timetable, sends);
  StageEvents events(static_cast<std::size_t>(timetable.stages));
  for (const auto& [at, task, to] : common_order(timetable, timing, sends)) {
    const int home = timetable.place_of(task);
    std::vector<Event>& own = events[static_cast<std::size_t>(home)];
    if (to < 0) {
      own.push_back({EventKind::run, task});
    } else {
      own.push_back({EventKind::send, task, to});
      events[static_cast<std::size_t>(to)].push_back({EventKind::receive, task, home});
    }
  }
  return events;
}

void check_sends(const Timetable& timetable, const Sends& sends) {
  for (const auto& [chunk_task, stages] : sends) {
    const Task task{chunk_task.kind, chunk_task.chunk, 0};
    require(has_task(timetable, task),
            "moves: chunk {} has no task {}; legal are chunks 0 to {} and the timetable's kinds", task.chunk,
            to_string(task.kind), timetable.chunks() - 1);
    std::set<int> named;
    for (const int to : stages) {
      const bool legal = to >= 0 && to < timetable.stages && to != timetable.place_of(task) && named.insert(to).second;
      require(legal, "moves: {} of chunk {} goes to stage {}; legal are stages 0 to {} other than its own, each once",
              to_string(task.kind), task.chunk, to, timetable.stages - 1);
    }
  }
}

}  // namespace shardline
