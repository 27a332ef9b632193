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

/// Time in which this stage waited for others, over all steps.
Seconds waited(const Trainer& trainer, const std::vector<Measured>& measured) {
  Seconds sum;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (changes_stage(trainer.program().steps[i].kind)) sum += measured[i].exposed;
  }
  return sum;
}

}  // namespace

std::vector<StageRecord> stage_records(Job& job, const Trainer& trainer, const std::vector<Measured>& measured,
                                       int runs, Seconds step) {
  if (!trainer.plan().pipeline) return {};
  const PipelinePlan& pipeline = *trainer.plan().pipeline;
  const Timing timing = pipeline.timing(job.predictions());
  const Seconds waiting = waited(trainer, measured) / static_cast<double>(std::max(runs, 1));
  const std::vector<double> idle = job.world().all_gather(waiting.value / step.value);
  const std::vector<double> predicted = job.world().all_gather(trainer.predicted_memory().value);
  const std::vector<double> used = job.world().all_gather(static_cast<double>(tensor_memory().peak));
  std::vector<StageRecord> stages;
  for (int stage = 0; stage < pipeline.timetable.stages; ++stage) {
    StageRecord record{.layers = layers_of_stage(pipeline, stage)};
    const StageTime& time = timing.stages[static_cast<std::size_t>(stage)];
    // What is not the stage's own work is idle; its update is as long as that of the others.
    record.predicted_idle = (timing.makespan - time.busy) / trainer.predicted_step();
    for (std::size_t rank = 0; rank < idle.size(); ++rank) {
      if (trainer.plan().stage_of(job.mesh().axes(), static_cast<Index>(rank)) != stage) continue;
      record.measured_idle = std::max(record.measured_idle, idle[rank]);
      record.predicted_memory = std::max(record.predicted_memory, Bytes(predicted[rank]));
      record.measured_memory = std::max(record.measured_memory, Bytes(used[rank]));
    }
    stages.push_back(std::move(record));
  }
  return stages;
}

std::string stages_text(const std::vector<StageRecord>& stages) {
  if (stages.empty()) return "";
  std::string text = "the table is that of stage 0; idle: waiting for other stages\n";
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const StageRecord& each = stages[stage];
    text += fmt::format("stage {}: layers {}; idle {:.1f}%, {:.1f}% predicted; arrays at most {}, {} predicted\n",
                        stage, each.layers.empty() ? "none" : fmt::format("{}", fmt::join(each.layers, " ")),
                        100 * each.measured_idle, 100 * each.predicted_idle, to_string(each.measured_memory),
                        to_string(each.predicted_memory));
  }
  return text;
}

Json stages_json(const std::vector<StageRecord>& stages) {
  Json all = Json::array();
  for (const StageRecord& each : stages) {
    all.push_back({{"layers", each.layers},
                   {"idle_share", {{"predicted", each.predicted_idle}, {"measured", each.measured_idle}}},
                   {"peak_memory_bytes",
                    {{"predicted", each.predicted_memory.value}, {"measured", each.measured_memory.value}}}});
  }
  return all;
}

}  // namespace shardline::tools
