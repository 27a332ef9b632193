#include "program/timetable/task_clock.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shardline {

namespace {

std::vector<Seconds> times_by_task(const Timetable& shape, const TaskCosts& costs) {
  check_costs(costs, shape.kinds, shape.chunks());
  std::vector<Seconds> times(task_count(shape));
  for (const TaskKind kind : shape.kinds) {
    for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
      for (Index batch = 0; batch < shape.micro_batches; ++batch) {
        times[number_of(shape, Task{kind, chunk, batch})] = costs_of(costs, kind)[static_cast<std::size_t>(chunk)];
      }
    }
  }
  return times;
}

}  // namespace

TaskClock::TaskClock(const Timetable& shape, const TaskCosts& costs) : TaskClock(shape, times_by_task(shape, costs)) {
  move_ = costs.move;
  frees_cores_ = costs.frees_cores;
}

TaskClock::TaskClock(const Timetable& shape, std::vector<Seconds> times)
    : shape_(shape),
      times_(std::move(times)),
      needs_(chunk_task_count(shape)),
      done_(task_count(shape), 0),
      started_(static_cast<std::size_t>(shape.stages), 0) {
  require(times_.size() == task_count(shape), "{} times of {} tasks", times_.size(), task_count(shape));
  for (const Seconds time : times_) check_task_time(time, "a task");
  for (const TaskKind kind : shape.kinds) {
    for (int chunk = 0; chunk < shape.chunks(); ++chunk) {
      needs_[number_of(shape, ChunkTask{kind, chunk})] = needs(shape, {kind, chunk});
    }
  }
  timing_.begin = timing_.end = timing_.receiving = std::vector<Seconds>(task_count(shape));
  timing_.stages.resize(static_cast<std::size_t>(shape.stages));
}

std::optional<Seconds> TaskClock::next_begin(const Task& task) const {
  const int home = shape_.place_of(task);
  Seconds at = timing_.stages[static_cast<std::size_t>(home)].last;
  for (const auto& [kind, chunk] : needs_[number_of(shape_, task.of_chunk())]) {
    const Task needed{kind, chunk, task.micro_batch};
    const std::size_t number = number_of(shape_, needed);
    if (!done_[number]) return std::nullopt;
    const bool delayed = frees_cores_ && shape_.place_of(needed) != home;
    at = std::max(at, timing_.end[number] + (delayed ? move_ : Seconds(0)));
  }
  return at;
}

void TaskClock::run(const Task& task) {
  const auto z = static_cast<std::size_t>(shape_.place_of(task));
  const std::size_t number = number_of(shape_, task);
  const std::optional<Seconds> begin = next_begin(task);
  SHARDLINE_CHECK(begin.has_value(), "{} has not all that it needs", to_string(shape_, task));
  const Seconds receiving_time = receiving(task);
  const Seconds takes = times_[number];
  timing_.receiving[number] = receiving_time;
  timing_.begin[number] = *begin + receiving_time;
  timing_.end[number] = timing_.begin[number] + takes;
  timing_.tasks.push_back(task);
  StageTime& stage = timing_.stages[z];
  if (!started_[z]) stage.first = *begin;
  started_[z] = 1;
  stage.last = timing_.end[number];
  stage.busy += receiving_time + takes;
  stage.moving += receiving_time;
  timing_.makespan = std::max(timing_.makespan, stage.last);
  done_[number] = 1;
}

Seconds TaskClock::receiving(const Task& task) const {
  if (frees_cores_) return Seconds(0);
  Seconds total;
  for (const ChunkTask& needed : needs_[number_of(shape_, task.of_chunk())]) {
    if (shape_.place[static_cast<std::size_t>(needed.chunk)] != shape_.place_of(task)) total += move_;
  }
  return total;
}

}  // namespace shardline
