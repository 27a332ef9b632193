#include "models/training/pipeline_search.h"

#include <algorithm>

#include "program/timetable/named.h"

namespace shardline {
namespace {

/// A run and the simulated time of its tasks.
struct TimedRun {
  TrainingRun run;
  Seconds time;
};

bool fits(const TrainingPlan& plan, Bytes memory) {
  return std::all_of(plan.stages.begin(), plan.stages.end(),
                     [&](const StagePrograms& stage) { return stage.step->liveness().peak(0) <= memory; });
}

}  // namespace

std::vector<Index> counts_of_micro_batches(const TrainingRun& run, Index stages, bool search) {
  if (!search) return {run.options.form.micro_batches};
  constexpr Index kForEachStage = 4;
  std::vector<Index> counts;
  for (Index count = 1; count <= std::min(run.options.batch.sequences, kForEachStage * stages); ++count) {
    if (run.options.batch.sequences % count == 0) counts.push_back(count);
  }
  return counts;
}

std::vector<std::string> names_of_timetables(const TrainingRun& run, int stages, bool search) {
  if (!search) return {run.options.pipeline.timetable};
  std::vector<std::string> names;
  const std::vector<int>& given = run.options.pipeline.layers;
  for (const TimetableRow& row : timetable_rows()) {
    // Given numbers of layers fit only timetables with as many chunks.
    const bool fits = given.empty() || given.size() == static_cast<std::size_t>(stages * row.chunks_per_stage);
    if (fits) names.emplace_back(row.name);
  }
  return names;
}

TrainingRun fastest_pipeline(const TrainingRun& run, const AbstractMesh& mesh, const PipelineSearch& search) {
  const Axis axis = stage_axis(run.strategy, mesh);
  const auto stages = static_cast<int>(mesh.size(axis));
  std::vector<TimedRun> ways;
  for (const Index count : counts_of_micro_batches(run, stages, search.micro_batches)) {
    TrainingRun way = run;
    way.options.form.micro_batches = count;
    MicroStep step = micro_step(way, mesh.without(axis));
    const std::shared_ptr<const Compiled> micro = compile(std::move(step.program), step.how);
    for (const std::string& name : names_of_timetables(run, stages, search.timetable)) {
      way.options.pipeline.timetable = name;
      const PipelinePlan plan = plan_pipeline(micro, way.options.pipeline, axis, stages, count);
      ways.push_back({way, plan.timing(run.options.prices).makespan});
    }
  }
  if (ways.empty()) return run;
  std::stable_sort(ways.begin(), ways.end(), [](const TimedRun& a, const TimedRun& b) { return a.time < b.time; });
  for (const TimedRun& way : ways) {
    if (search.memory.value == 0 || fits(plan_training(way.run, mesh), search.memory)) return way.run;
  }
  return ways.front().run;
}

}  // namespace shardline
