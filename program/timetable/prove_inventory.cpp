#include "program/timetable/prove_inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace shardline {
namespace {

/// Which tasks ran, and which moves were sent and received.
class Inventory {
 public:
  Inventory(const Timetable& timetable, const Sends& sends)
      : timetable_(timetable), sends_(chunk_task_count(timetable)), ran_(task_count(timetable), 0) {
    for (const auto& [task, stages] : sends) sends_[number_of(timetable, task)] = stages;
    const std::size_t moves = ran_.size() * static_cast<std::size_t>(timetable.stages);
    sent_.assign(moves, 0);
    received_.assign(moves, 0);
  }

  void take(int z, const Event& event) {
    const Task& task = event.task;
    if (!has_task(timetable_, task)) {
      throw Error(fmt::format("timetable: stage {} has {} of chunk {} and micro-batch {}, which is no task", z,
                              to_string(task.kind), task.chunk, task.micro_batch));
    }
    const int home = timetable_.place_of(task);
    if (event.kind == EventKind::receive) {
      if (event.peer != home || !is_sent(task, z)) refuse(z, event, "which is not among the moves");
    } else if (z != home) {
      refuse(z, event, fmt::format("a task of stage {}", home));
    } else if (event.kind == EventKind::send && !is_sent(task, event.peer)) {
      refuse(z, event, "which is not among the moves");
    }
    if (std::exchange(mark(z, event), 1)) throw Error(complaint(z, event) + " twice");
  }

  /// Throws unless all of the timetable's tasks and moves were taken.
  void complete() {
    for (const TaskKind kind : timetable_.kinds) {
      for (int q = 0; q < timetable_.chunks(); ++q) {
        for (Index m = 0; m < timetable_.micro_batches; ++m) complete({kind, q, m});
      }
    }
  }

 private:
  void complete(const Task& task) {
    const int home = timetable_.place_of(task);
    expect(home, {EventKind::run, task});
    for (const int to : sends_[number_of(timetable_, task.of_chunk())]) {
      expect(home, {EventKind::send, task, to});
      expect(to, {EventKind::receive, task, home});
    }
  }

  void expect(int z, const Event& event) {
    if (!mark(z, event)) throw Error(fmt::format("timetable: stage {} never {}", z, to_string(timetable_, event)));
  }

  char& mark(int z, const Event& event) {
    const std::size_t number = number_of(timetable_, event.task);
    if (event.kind == EventKind::run) return ran_[number];
    const bool sends = event.kind == EventKind::send;
    const auto to = static_cast<std::size_t>(sends ? event.peer : z);
    return (sends ? sent_ : received_)[number * static_cast<std::size_t>(timetable_.stages) + to];
  }

  bool is_sent(const Task& task, int to) const {
    const std::vector<int>& stages = sends_[number_of(timetable_, task.of_chunk())];
    return std::find(stages.begin(), stages.end(), to) != stages.end();
  }

  std::string complaint(int z, const Event& event) const {
    return fmt::format("timetable: stage {} {}", z, to_string(timetable_, event));
  }

  [[noreturn]] void refuse(int z, const Event& event, const std::string& why) const {
    throw Error(complaint(z, event) + ", " + why);
  }

  const Timetable& timetable_;
  std::vector<std::vector<int>> sends_;  ///< by number of the chunk's task
  std::vector<char> ran_;                ///< by task
  std::vector<char> sent_;               ///< by task and receiving stage
  std::vector<char> received_;           ///< the same
};

}  // namespace

void prove_inventory(const Timetable& timetable, const StageEvents& events, const Sends& sends) {
  SHARDLINE_CHECK(static_cast<int>(events.size()) == timetable.stages, "events of {} stages; the timetable has {}",
                  events.size(), timetable.stages);
  Inventory inventory(timetable, sends);
  for (int z = 0; z < timetable.stages; ++z) {
    for (const Event& event : events[static_cast<std::size_t>(z)]) inventory.take(z, event);
  }
  inventory.complete();
}

}  // namespace shardline
