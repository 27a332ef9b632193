#include "models/architecture/mlp.h"

#include <gtest/gtest.h>

#include "models/strategy/strategies.h"
#include "program/cut/write_out.h"
#include "program/ir/print.h"
#include "program/partition/check.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"
#include "tests/program/simulator.h"

/// The MLP that is trained: its program on all meshes, and micro-batches of it. book_test.cpp has its listings.
namespace shardline {
namespace {

const MlpConfig kTwoLayers{.d_model = 5, .d_ff = 7, .layers = 2, .activation = MlpActivation::gelu};

/// The names of the arrays that operations of a pass make, in order.
std::vector<std::string> made_in(const Program& program, Pass pass) {
  std::vector<std::string> names;
  for (const Operation& op : program.operations) {
    if (op.region.pass == pass) names.push_back(program.array(op.results[0]).name);
  }
  return names;
}

TEST(MlpTraining, OneLayerHasTheNamesOfTheBook) {
  const TrainingStep step = make_training_step(MlpConfig{.d_model = 4, .d_ff = 6}, {3, 1}, PlainDescent{});
  const Program& p = step.model.program;
  EXPECT_EQ(made_in(p, Pass::forward), (std::vector<std::string>{"Tmp", "Out", "loss"}));
  EXPECT_EQ(made_in(p, Pass::backward), (std::vector<std::string>{"dOut", "dW_out", "dTmp", "dW_in", "dIn"}));
  EXPECT_EQ(to_string(p.array(p.find("W_in"))), "W_in[D, F]");
  EXPECT_EQ(to_string(p.array(p.find("W_out"))), "W_out[F, D]");
}

TEST(MlpTraining, LayersAreNumberedAndAnActivationIsBetweenTheProducts) {
  const Program p = make_training_step(kTwoLayers, {3, 1}, AdamW{}).model.program;
  EXPECT_EQ(made_in(p, Pass::forward),
            (std::vector<std::string>{"Tmp1", "Act1", "Out1", "Tmp2", "Act2", "Out2", "loss"}));
  EXPECT_EQ(p.updates.size(), 3U * 4U);  // each weight, with both moments
}

TEST(MlpTraining, PlainDescentHasNoStateButTheWeights) {
  const TrainingStep step = make_training_step(kTwoLayers, {3, 1}, PlainDescent{});
  ASSERT_EQ(step.model.program.updates.size(), 4U);
  for (const auto& [before, after] : step.model.program.updates) {
    EXPECT_EQ(step.model.program.array(before).role, Role::parameter);
  }
  EXPECT_EQ(step.arrays.step, -1);
}

/// Every array on every rank, on meshes that divide no dim.
TEST(MlpTraining, ValuesAreRightOnAllMeshes) {
  for (const Optimizer& optimizer : {Optimizer(AdamW{{.clip_norm = 0.5}}), Optimizer(PlainDescent{})}) {
    const TrainingStep step = make_training_step(kTwoLayers, {6, 1}, optimizer);
    const Values reference = run_unsharded(step.model.program, random_inputs(step.model.program, 1));
    for (const char* mesh : {"X=2,Y=1", "X=3,Y=2", "X=2,Y=4", "X=8,Y=1", "X=1,Y=6"}) {
      for (const char* strategy : {"dp=X,tp=Y", "zero1=X,tp=Y", "fsdp=X,tp=Y", "tp=X,fsdp=Y", "fsdp=X,dp=Y"}) {
        const RankProgram program = partitioned(step.model.program, mesh, strategy, kRegather);
        ASSERT_NO_THROW(check(program)) << mesh << ' ' << strategy;
        ASSERT_NO_THROW(simulate(program, reference)) << mesh << ' ' << strategy;
      }
    }
  }
}

/// Where D of the result is split, a part of the loss is owed over that axis too, and its sum with it: one reduction
/// after the last micro-batch.
TEST(MlpTraining, TheLossOfSeveralMicroBatchesIsReducedOnce) {
  for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp=Y", "dp=X,dp=Y"}) {
    const TrainingStep step = make_training_step(kTwoLayers, {12, 1}, PlainDescent{}, {}, {.micro_batches = 3});
    const RankProgram micro = partitioned(step.model.program, "X=2,Y=2", strategy);
    ASSERT_NO_THROW(check(micro)) << strategy;
    std::vector<std::string> reductions;
    for (const std::string& line : lines(write_out(micro, 3).program)) {
      if (line.find("AllReduce") != std::string::npos && line.find("loss") != std::string::npos) {
        reductions.push_back(line);
      }
    }
    EXPECT_EQ(reductions, std::vector<std::string>{"step.loss[] = AllReduce_XY(step.loss[]{U_XY})"}) << strategy;
  }
}

TEST(MlpTraining, EachMicroBatchHasItsOwnRows) {
  const TrainingStep step = make_training_step(kTwoLayers, {12, 1}, PlainDescent{}, {}, {.micro_batches = 3});
  EXPECT_EQ(step.model.program.sizes.at("B"), 4);
  const WrittenOut written = write_out(partitioned(step.model.program, "X=2", "dp=X"), 3);
  ASSERT_EQ(written.samples.size(), 3U);
  std::set<ArrayId> own;
  for (const auto& each : written.samples) {
    for (const ArrayId input : step.model.samples) own.insert(each.at(input));
  }
  EXPECT_EQ(own.size(), 6U);
  EXPECT_THROW(make_training_step(kTwoLayers, {12, 1}, PlainDescent{}, {}, {.micro_batches = 5}), UsageError);
}

}  // namespace
}  // namespace shardline
