#include "tools/training/task_times.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "program/price/estimate.h"

namespace shardline::tools {
namespace {

/// To which task each of a stage's steps belongs, by number; the update has the number after the last task.
class TasksOfSteps {
 public:
  explicit TasksOfSteps(const Trainer& trainer)
      : program_(trainer.program()), timetable_(trainer.plan().pipeline->timetable), tasks_(trainer.programs().tasks) {}

  std::size_t update() const { return task_count(timetable_); }
  std::size_t operator()(int step) const {
    const std::optional<Task>& task = tasks_[static_cast<std::size_t>(step)];
    return task ? number_of(timetable_, *task) : update();
  }
  /// The step moves nothing between stages.
  bool stays(int step) const { return !changes_stage(program_.steps[static_cast<std::size_t>(step)].kind); }

 private:
  const RankProgram& program_;
  const Timetable& timetable_;
  const std::vector<std::optional<Task>>& tasks_;
};

/// What to add to the time of a task for each second of waiting at the end of a step in flight.
struct WaitPlace {
  std::size_t task = 0;
  double sign = 0;  ///< -1: a move, waited for amid the task; 1: a collective of the stage, waited for behind it
};

/// By step. A wait lies between two steps that keep the rank.
std::vector<WaitPlace> wait_places(const ProgramSchedule& schedule, const TasksOfSteps& task_of) {
  std::vector<WaitPlace> places(schedule.begins.size());
  const auto keeper = [&](const Action& action) {
    const bool keeps = action.kind != ActionKind::start && action.kind != ActionKind::wait;
    return keeps && task_of.stays(action.steps.back());
  };
  std::optional<std::size_t> before;
  std::vector<int> waited;
  for (const Action& action : schedule.actions) {
    if (action.kind == ActionKind::wait) waited.insert(waited.end(), action.steps.begin(), action.steps.end());
    if (!keeper(action)) continue;
    const std::size_t task = task_of(action.steps.back());
    for (const int step : waited) {
      const bool amid = before == task;
      if (before && amid != task_of.stays(step)) places[static_cast<std::size_t>(step)] = {*before, amid ? -1.0 : 1.0};
    }
    waited.clear();
    before = task;
  }
  return places;
}

/// What a rank tells of a task, in seconds by rank 0's clock.
struct Told {
  double begin = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();
  double waited = 0;  ///< see WaitPlace
};

/// Of this rank: its tasks, then its update.
std::vector<Told> own_tasks(const Trainer& trainer, std::size_t run) {
  const Trace& trace = trainer.executor().trace();
  const TasksOfSteps task_of(trainer);
  const std::vector<WaitPlace> places = wait_places(trainer.executor().compiled().schedule(), task_of);
  std::vector<Told> told(task_of.update() + 1);
  const std::size_t count = trace.labels().size();
  for (std::size_t i = run * count; i < (run + 1) * count; ++i) {
    const Span& span = trace.spans()[i];
    const WaitPlace& place = places[static_cast<std::size_t>(span.label)];
    told[place.task].waited += place.sign * span.exposed.value;
    const bool kept =
        !trace.labels()[static_cast<std::size_t>(span.label)].communicates || span.exposed >= span.end - span.begin;
    if (!kept || !task_of.stays(span.label)) continue;
    Told& task = told[task_of(span.label)];
    task.begin = std::min(task.begin, trace.clock().common(span.begin).value);
    task.end = std::max(task.end, trace.clock().common(span.end).value);
  }
  return told;
}

/// Collective over `comm`: by rank.
std::vector<std::vector<Told>> told_by_all(const mpi::Communicator& comm, const std::vector<Told>& own) {
  std::vector<std::vector<Told>> all;
  const std::string mine(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(Told));
  for (const std::string& bytes : comm.all_gather_bytes(mine)) {
    std::vector<Told> told(bytes.size() / sizeof(Told));
    std::memcpy(told.data(), bytes.data(), bytes.size());
    all.push_back(std::move(told));
  }
  return all;
}

bool ran(const Told& told) { return told.begin <= told.end; }

Seconds time_of(const Told& told) {
  return ran(told) ? Seconds(std::max(0.0, told.end - told.begin + told.waited)) : Seconds();
}

}  // namespace

std::optional<TracedStage> traced_stage(Job& job, const Trainer& trainer) {
  if (!trainer.plan().pipeline) return {};
  const PipelinePlan& pipeline = *trainer.plan().pipeline;
  TracedStage stage{.axis = pipeline.axis,
                    .stage = trainer.stage(),
                    .timetable = pipeline.timetable,
                    .predicted = pipeline.timing(job.predictions()),
                    .tasks = trainer.programs().tasks,
                    .moves = {}};
  for (const Step& step : trainer.program().steps) stage.moves.push_back(step.tag);
  return stage;
}

TaskTimes predicted_tasks(Job& job, const Trainer& trainer) {
  const PipelinePlan& pipeline = *trainer.plan().pipeline;
  const Timing timing = pipeline.timing(job.predictions());
  TaskTimes predicted;
  for (std::size_t task = 0; task < timing.begin.size(); ++task) {
    predicted.ranges.push_back({timing.begin[task], timing.end[task]});
    predicted.times.tasks.push_back(timing.end[task] - timing.begin[task]);
  }
  for (const UpdatePrice& stage : pipeline.updates(job.predictions())) predicted.times.update.push_back(stage.work);
  predicted.times.step = trainer.predicted_step();
  return predicted;
}

std::vector<TaskTimes> measured_tasks(const Job& job, const Trainer& trainer, std::size_t run, Seconds step) {
  const Timetable& timetable = trainer.plan().pipeline->timetable;
  const std::vector<std::vector<Told>> all = told_by_all(job.world(), own_tasks(trainer, run));
  double zero = std::numeric_limits<double>::infinity();
  for (const std::vector<Told>& rank : all) {
    for (const Told& task : rank) zero = std::min(zero, task.begin);
  }
  const AbstractMesh& mesh = job.mesh().axes();
  const std::size_t tasks = task_count(timetable);
  const StepTimes none{.tasks = std::vector<Seconds>(tasks),
                       .update = std::vector<Seconds>(static_cast<std::size_t>(timetable.stages)),
                       .step = step};
  std::vector<TaskTimes> places(all.size() / static_cast<std::size_t>(timetable.stages),
                                {.times = none, .ranges = std::vector<TimeRange>(tasks)});
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto number = static_cast<Index>(rank);
    TaskTimes& place = places[static_cast<std::size_t>(trainer.plan().rank_in_stage(mesh, number))];
    const auto stage = static_cast<std::size_t>(trainer.plan().stage_of(mesh, number));
    place.times.update[stage] = time_of(all[rank][tasks]);
    for (std::size_t task = 0; task < tasks; ++task) {
      const Told& told = all[rank][task];
      if (!ran(told)) continue;
      const Seconds end(told.end - zero);
      place.times.tasks[task] = time_of(told);
      place.ranges[task] = {end - place.times.tasks[task], end};
    }
  }
  return places;
}

}  // namespace shardline::tools
