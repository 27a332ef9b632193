#include "tools/training/stage_record.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "runtime/base/units.h"

namespace shardline::tools {
namespace {

/// The layers of a stage, all chunks together.
std::vector<int> layers_of_stage(const PipelinePlan& pipeline, int stage) {
  const StageLayers layers = pipeline.cut().layers();
  std::vector<int> own;
  for (std::size_t layer = 0; layer < layers.chunk_of.size(); ++layer) {
    if (layers.place[static_cast<std::size_t>(layers.chunk_of[layer])] == stage) own.push_back(static_cast<int>(layer));
  }
  return own;
}

/// By stage: the mean of what the ranks of the stage lost.
std::vector<StepParts> measured_parts(const Timetable& timetable, const std::vector<TaskTimes>& places) {
  std::vector<std::vector<StepParts>> of_places;
  for (const TaskTimes& place : places) of_places.push_back(parts_of_step(timetable, place.times));
  std::vector<StepParts> parts;
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(timetable.stages); ++stage) {
    std::vector<StepParts> of_stage;
    for (const std::vector<StepParts>& place : of_places) of_stage.push_back(place[stage]);
    parts.push_back(mean(of_stage));
  }
  return parts;
}

/// The means of all stages: predicted, then measured.
std::pair<StepParts, StepParts> of_all(const std::vector<StageRecord>& stages) {
  std::vector<StepParts> predicted;
  std::vector<StepParts> measured;
  for (const StageRecord& stage : stages) {
    predicted.push_back(stage.predicted);
    measured.push_back(stage.measured);
  }
  return {mean(predicted), mean(measured)};
}

std::string part_text(Seconds part, const StepParts& of) {
  return fmt::format("{:>10} {:>5.1f}%", to_string(part), 100 * (part / of.step()));
}

Json parts_json(const StepParts& parts) {
  return {{"computing", parts.computing.value},
          {"start_and_end", parts.start_and_end.value},
          {"uneven", parts.uneven.value},
          {"moves", parts.moves.value}};
}

Json times_json(const StepParts& predicted, const StepParts& measured) {
  return {{"predicted", parts_json(predicted)}, {"measured", parts_json(measured)}};
}

}  // namespace

PipelineRecord pipeline_record(Job& job, const Trainer& trainer, const ShownStep& shown) {
  if (!trainer.plan().pipeline) return {};
  const PipelinePlan& pipeline = *trainer.plan().pipeline;
  PipelineRecord record{.name = trainer.options().pipeline.timetable,
                        .timetable = pipeline.timetable,
                        .shown = shown,
                        .predicted = predicted_tasks(job, trainer),
                        .measured = {},
                        .stages = {}};
  const std::vector<TaskTimes> places = measured_tasks(job, trainer, shown.run, shown.time);
  record.measured = places.front();
  const std::vector<StepParts> predicted = parts_of_step(pipeline.timetable, record.predicted.times);
  const std::vector<StepParts> measured = measured_parts(pipeline.timetable, places);
  for (int stage = 0; stage < pipeline.timetable.stages; ++stage) {
    const auto number = static_cast<std::size_t>(stage);
    record.stages.push_back({layers_of_stage(pipeline, stage), predicted[number], measured[number]});
  }
  const std::vector<double> expected = job.world().all_gather(trainer.predicted_memory().value);
  const std::vector<double> used = job.world().all_gather(static_cast<double>(tensor_memory().peak));
  for (std::size_t rank = 0; rank < used.size(); ++rank) {
    const int stage = trainer.plan().stage_of(job.mesh().axes(), static_cast<Index>(rank));
    StageRecord& own = record.stages[static_cast<std::size_t>(stage)];
    own.predicted_memory = std::max(own.predicted_memory, Bytes(expected[rank]));
    own.measured_memory = std::max(own.measured_memory, Bytes(used[rank]));
  }
  return record;
}

std::vector<std::pair<std::string, StepParts>> rows_of_parts(const PipelineRecord& pipeline) {
  std::vector<std::pair<std::string, StepParts>> rows;
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    rows.emplace_back(fmt::format("stage {}", stage), pipeline.stages[stage].measured);
    rows.emplace_back("  predicted", pipeline.stages[stage].predicted);
  }
  const auto [predicted, measured] = of_all(pipeline.stages);
  rows.emplace_back("mean of all", measured);
  rows.emplace_back("  predicted", predicted);
  return rows;
}

std::string stages_text(const PipelineRecord& pipeline) {
  if (pipeline.stages.empty()) return "";
  std::string text =
      fmt::format("\n{:<12} {:>17} {:>17} {:>17} {:>17}   (step {}, {})\n", "time", "computing", "start and end",
                  "uneven stages", "moves", pipeline.shown.number, to_string(pipeline.shown.time));
  for (const auto& [name, parts] : rows_of_parts(pipeline)) {
    text += fmt::format("{:<12} {} {} {} {}\n", name, part_text(parts.computing, parts),
                        part_text(parts.start_and_end, parts), part_text(parts.uneven, parts),
                        part_text(parts.moves, parts));
  }
  for (std::size_t stage = 0; stage < pipeline.stages.size(); ++stage) {
    const StageRecord& each = pipeline.stages[stage];
    text += fmt::format("stage {}: layers {}; arrays at most {}, {} predicted\n", stage,
                        each.layers.empty() ? "none" : fmt::format("{}", fmt::join(each.layers, " ")),
                        to_string(each.measured_memory), to_string(each.predicted_memory));
  }
  return text;
}

void add_stage_keys(Json& json, const PipelineRecord& pipeline) {
  if (pipeline.stages.empty()) return;
  json["timetable"] = pipeline.name;
  json["shown_step"] = {{"step", pipeline.shown.number}, {"step_s", pipeline.shown.time.value}};
  json["stages"] = Json::array();
  for (const StageRecord& each : pipeline.stages) {
    json["stages"].push_back(
        {{"layers", each.layers},
         {"idle_share",
          {{"predicted", each.predicted.lost() / each.predicted.step()},
           {"measured", each.measured.lost() / each.measured.step()}}},
         {"time_s", times_json(each.predicted, each.measured)},
         {"peak_memory_bytes",
          {{"predicted", each.predicted_memory.value}, {"measured", each.measured_memory.value}}}});
  }
  const auto [predicted, measured] = of_all(pipeline.stages);
  json["all_stages"] = {{"time_s", times_json(predicted, measured)}};
}

}  // namespace shardline::tools
