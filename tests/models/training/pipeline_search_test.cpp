#include "models/training/pipeline_search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/parity/parity.h"
#include "models/training/pipeline_prices.h"
#include "program/timetable/named.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

const AbstractMesh kMesh = AbstractMesh::parse("Z=2,X=2");

/// Layers so large that the time of products counts, and not their start.
TrainingRun staged_run() {
  TransformerConfig config = parity_config(ParityTask::usual);
  config.d_model = 256;
  config.d_ff = 1024;
  config.layers = 6;
  TrainingRun run{.config = config, .options = {}, .strategy = parse_strategy("pp=Z,fsdp=X", kMesh)};
  run.options.batch = {16, 64};
  run.options.optimizer = AdamW{};
  run.options.prices = roofline::hardware_named("cpu", kMesh, DType::f32);
  return run;
}

Seconds time_of(const TrainingRun& run) {
  return plan_training(run, kMesh).pipeline->timing(run.options.prices).makespan;
}

Bytes peak_of(const TrainingRun& run) {
  Bytes most;
  for (const StagePrograms& stage : plan_training(run, kMesh).stages) {
    most = std::max(most, stage.step->liveness().peak(0));
  }
  return most;
}

TEST(PipelineSearch, NoTimetableAndNoDivisorIsFaster) {
  const TrainingRun run = staged_run();
  const TrainingRun chosen = fastest_pipeline(run, kMesh, {.timetable = true, .micro_batches = true, .memory = {}});
  EXPECT_EQ(run.options.batch.sequences % chosen.options.form.micro_batches, 0);
  const Seconds best = time_of(chosen);
  for (const Index count : {1, 2, 4, 8}) {
    for (const TimetableRow& row : timetable_rows()) {
      TrainingRun other = run;
      other.options.form.micro_batches = count;
      other.options.pipeline.timetable = row.name;
      EXPECT_GE(time_of(other).value, best.value * (1 - 1e-9)) << row.name << " " << count;
    }
  }
}

TEST(PipelineSearch, WhatDoesNotFitIsPassedOver) {
  const TrainingRun run = staged_run();
  const PipelineSearch all{.timetable = true, .micro_batches = true, .memory = {}};
  const TrainingRun fastest = fastest_pipeline(run, kMesh, all);
  PipelineSearch less = all;
  less.memory = peak_of(fastest) * 0.999;
  const TrainingRun smaller = fastest_pipeline(run, kMesh, less);
  EXPECT_LE(peak_of(smaller).value, less.memory.value);
  EXPECT_GE(time_of(smaller).value, time_of(fastest).value);
}

TEST(PipelineSearch, KeepsWhatIsGiven) {
  TrainingRun run = staged_run();
  run.options.form.micro_batches = 4;
  EXPECT_EQ(fastest_pipeline(run, kMesh, {.timetable = true, .memory = {}}).options.form.micro_batches, 4);
  run.options.pipeline.timetable = "gpipe";
  EXPECT_EQ(fastest_pipeline(run, kMesh, {.micro_batches = true, .memory = {}}).options.pipeline.timetable, "gpipe");
  run.options.pipeline.layers = {1, 2, 2, 1};  // two chunks for each stage
  const std::set<std::string> two_chunks{"interleaved", "interleaved_zb", "zb_v"};
  EXPECT_TRUE(
      two_chunks.contains(fastest_pipeline(run, kMesh, {.timetable = true, .memory = {}}).options.pipeline.timetable));
}

/// Of every way to make stages there is one price, near that of the program that training would run.
TEST(PipelinePrices, AreNearWhatTrainingPredicts) {
  const TrainingRun run = staged_run();
  const PipelineSearch all{.timetable = true, .micro_batches = true, .memory = {}};
  std::set<std::string> strategies;
  for (const PricedStrategy& each : priced_pipelines(run, kMesh, {Remat::none}, all)) {
    EXPECT_TRUE(strategies.insert(to_string(each.strategy)).second);
    if (each.strategy != run.strategy) continue;
    const TrainingRun fastest = fastest_pipeline(run, kMesh, all);
    EXPECT_NEAR(each.price.total / time_of(fastest), 1, 0.1) << "the update is in the price alone";
    EXPECT_EQ(each.micro_batches, fastest.options.form.micro_batches);
    EXPECT_NEAR(each.peak / peak_of(fastest), 1, 0.15);
  }
  EXPECT_TRUE(strategies.contains("pp=Z,fsdp=X"));
  const std::size_t roles = training_roles().size() - 4;
  EXPECT_EQ(strategies.size(), roles) << "the model has no experts, and the axes are alike: the first makes the stages";
}

TEST(PipelinePrices, StagesAreAtMostTheLayers) {
  const AbstractMesh mesh = AbstractMesh::parse("X=8");
  EXPECT_TRUE(priced_pipelines(staged_run(), mesh, {Remat::none}, {}).empty()) << "six layers";
}

}  // namespace
}  // namespace shardline
