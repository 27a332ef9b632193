// A plan against the programs that training would run: the same layout, the same batch, the same machine. The plan
// prices three layers of one micro-batch and multiplies; the oracle writes out all layers and all micro-batches of
// every stage.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/parity/parity.h"
#include "models/planning/planned_step.h"
#include "models/training/training_plan.h"
#include "program/price/estimate.h"
#include "program/timetable/named.h"
#include "roofline/machine/catalogue.h"

namespace shardline {
namespace {

constexpr BatchShape kBatch{32, 64};

TransformerConfig planned_model() {
  TransformerConfig config = parity_config(ParityTask::usual);
  config.d_model = 256;
  config.d_ff = 1024;
  config.layers = 8;
  return config;
}

/// What training predicts of a step.
struct Prediction {
  Seconds step;
  Bytes peak;  ///< of the stage that needs most
};

Prediction predicted(const AbstractMesh& mesh, const std::string& strategy, const PlannedForm& form) {
  TrainingRun run{.config = planned_model(), .options = {}, .strategy = parse_strategy(strategy, mesh)};
  run.options.batch = kBatch;
  run.options.optimizer = AdamW{};
  run.options.prices = roofline::hardware_named("cpu", mesh, DType::f32);
  run.options.form = {.micro_batches = form.micro_batches, .remat = form.remat};
  if (!form.timetable.empty()) run.options.pipeline.timetable = form.timetable;
  const TrainingPlan plan = plan_training(run, mesh);
  Prediction all;
  for (const StagePrograms& stage : plan.stages) {
    Seconds own;
    for (const Step& step : stage.step->program().steps) {
      own += estimate(stage.step->program(), step, run.options.prices).price.time;
    }
    all.step = std::max(all.step, own);
    all.peak = std::max(all.peak, stage.step->liveness().peak(0));
  }
  if (plan.pipeline) {
    const roofline::Hardware& prices = run.options.prices;
    all.step = plan.pipeline->timing(prices).makespan + plan.pipeline->longest_update(prices);
  }
  return all;
}

void expect_same(const std::string& mesh_text, const std::string& strategy, const PlannedForm& form) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  const StepPlanner planner({planned_model(), kBatch.sequences * kBatch.tokens, kBatch.tokens, DType::f32, DType::f32});
  const PlannedStep step =
      planner.price(mesh, parse_strategy(strategy, mesh), roofline::hardware_named("cpu", mesh, DType::f32), form);
  const Prediction training = predicted(mesh, strategy, form);
  const std::string where = strategy + " on " + mesh_text + ", " + form.timetable + " of " +
                            std::to_string(form.micro_batches) + ", " + std::string(name_of(form.remat));
  EXPECT_NEAR(step.scheduled / training.step, 1, 0.03) << where;
  EXPECT_NEAR(step.memory.total() / training.peak, 1, 0.12) << where;
}

TEST(PlanAgainstTraining, EveryTimetable) {
  for (const std::string& name : every_timetable()) {
    expect_same("Z=4", "pp=Z", {.micro_batches = 8, .timetable = name});
    expect_same("Z=2,X=2", "pp=Z,fsdp=X", {.micro_batches = 4, .timetable = name});
    expect_same("Z=2,X=2", "pp=Z,dp=X", {.micro_batches = 4, .timetable = name});
  }
}

TEST(PlanAgainstTraining, EveryPolicy) {
  for (const Remat remat : kRemats) {
    expect_same("Z=2,X=2,Y=2", "pp=Z,zero1=X,tp=Y", {.micro_batches = 4, .remat = remat, .timetable = "1f1b"});
    expect_same("Z=2,X=2,Y=2", "pp=Z,zero2=X,tp=Y", {.micro_batches = 4, .remat = remat, .timetable = "1f1b"});
    expect_same("X=4", "zero1=X", {.micro_batches = 4, .remat = remat});
    expect_same("X=4", "zero2=X", {.micro_batches = 4, .remat = remat});
    expect_same("X=2,Y=2", "fsdp=X,tp=Y", {.micro_batches = 4, .remat = remat});
  }
}

}  // namespace
}  // namespace shardline
