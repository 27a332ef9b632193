#include "program/timetable/step_parts.h"

#include <algorithm>
#include <cstddef>

#include "program/timetable/timing.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// All tasks of a kind take their mean time.
std::vector<Seconds> even_times(const Timetable& timetable, const std::vector<Seconds>& tasks) {
  std::vector<Seconds> even(tasks.size());
  const double count = static_cast<double>(timetable.chunks()) * static_cast<double>(timetable.micro_batches);
  for (const TaskKind kind : timetable.kinds) {
    std::vector<std::size_t> numbers;
    for (int chunk = 0; chunk < timetable.chunks(); ++chunk) {
      for (Index batch = 0; batch < timetable.micro_batches; ++batch) {
        numbers.push_back(number_of(timetable, Task{kind, chunk, batch}));
      }
    }
    Seconds sum;
    for (const std::size_t number : numbers) sum += tasks[number];
    for (const std::size_t number : numbers) even[number] = sum / count;
  }
  return even;
}

}  // namespace

std::vector<StepParts> parts_of_step(const Timetable& timetable, const StepTimes& times) {
  const auto stages = static_cast<std::size_t>(timetable.stages);
  require(times.update.size() == stages, "{} updates of {} stages", times.update.size(), stages);
  const Timing even = timed_by_task(timetable, even_times(timetable, times.tasks));
  const Timing uneven = timed_by_task(timetable, times.tasks);
  const Seconds longest_update = *std::max_element(times.update.begin(), times.update.end());
  std::vector<StepParts> parts(stages);
  for (std::size_t z = 0; z < stages; ++z) {
    const Seconds own = uneven.stages[z].busy + times.update[z];
    const Seconds even_idle = even.makespan - even.stages[z].busy;
    parts[z].computing = std::min(own, times.step);
    const Seconds idle = times.step - parts[z].computing;
    const Seconds without_moves = std::min(idle, uneven.makespan + longest_update - own);
    parts[z].start_and_end = std::min(even_idle, without_moves);
    parts[z].uneven = without_moves - parts[z].start_and_end;
    parts[z].moves = idle - without_moves;
  }
  return parts;
}

StepParts mean(const std::vector<StepParts>& parts) {
  StepParts sum;
  for (const StepParts& each : parts) {
    sum.computing += each.computing;
    sum.start_and_end += each.start_and_end;
    sum.uneven += each.uneven;
    sum.moves += each.moves;
  }
  const double share = 1.0 / static_cast<double>(parts.size());
  return {sum.computing * share, sum.start_and_end * share, sum.uneven * share, sum.moves * share};
}

}  // namespace shardline
