// Prices of steps with stages and micro-batches. The oracles are closed forms and counts by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/architecture/accounting.h"
#include "models/planning/planned_step.h"
#include "program/timetable/named.h"
#include "roofline/machine/catalogue.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

/// So wide that products count alone, with a vocabulary that costs nothing beside the layers.
TransformerConfig wide(Index layers) { return {16, 2048, layers, 16, 16, 128, 8192}; }

constexpr Index kTokens = Index{1} << 16;

PlannedStep planned(Index layers, const std::string& mesh_text, const std::string& strategy, const PlannedForm& form) {
  const StepPlanner planner({wide(layers), kTokens, 64, DType::bf16, DType::f32});
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return planner.price(mesh, parse_strategy(strategy, mesh), roofline::hardware_named("v5p", mesh, DType::bf16), form);
}

/// 1F1B and GPipe idle for (S - 1) (F + B) of (M + S - 1) (F + B).
TEST(PlannedStages, IdleForAsLongAsTheClosedForm) {
  for (const Index stages : {2, 4}) {
    for (const Index count : {4, 16}) {
      for (const char* name : {"1f1b", "gpipe"}) {
        const PlannedStep step =
            planned(8, "Z=" + std::to_string(stages), "pp=Z", {.micro_batches = count, .timetable = name});
        const double share = static_cast<double>(stages - 1) / static_cast<double>(count + stages - 1);
        EXPECT_NEAR(step.idle / step.scheduled, share, 0.03) << name << " " << stages << " x " << count;
        EXPECT_LE(step.lower, step.scheduled);
        EXPECT_LE(step.scheduled, step.upper);
      }
    }
  }
}

/// Stages share the work: what a rank computes is that of one rank without stages, divided.
TEST(PlannedStages, ShareTheWork) {
  const PlannedStep whole = planned(8, "X=2", "dp=X", {});
  const PlannedStep staged = planned(8, "Z=4,X=2", "pp=Z,dp=X", {.micro_batches = 8, .timetable = "1f1b"});
  EXPECT_NEAR(staged.flops * 4.0 / whole.flops, 1, 0.01);
  EXPECT_NEAR(staged.memory.optimizer * 4.0 / whole.memory.optimizer, 1, 0.01);
}

/// Of two layers a stage, 1F1B holds four micro-batches on the first stage. GPipe holds all 16 on the last one, and
/// there also what the output projection reads: the last residual stream and its norm.
TEST(PlannedStages, HoldWhatTheTimetableHolds) {
  const auto others = [](const char* name) {
    const PlannedForm form{.micro_batches = 16, .remat = Remat::stream, .timetable = name};
    return planned(8, "Z=4", "pp=Z", form).memory.others;
  };
  const double array = 2.0 * (static_cast<double>(kTokens) / 16) * 2048;  // bytes of one of a micro-batch
  // A few numbers for each token stay too.
  EXPECT_NEAR((others("gpipe") - others("1f1b")).value / (16 * (4 + 2) * array - 4 * 4 * array), 1, 0.03);
}

TEST(PlannedStages, MoreMicroBatchesHoldLess) {
  const auto others = [](Index count) { return planned(4, "X=2", "dp=X", {.micro_batches = count}).memory.others; };
  EXPECT_GT(others(2), others(4));
  EXPECT_GT(others(4), others(8));
}

/// The products that are computed again, by hand; and all that is: what the step has more.
TEST(PlannedStages, RepeatedFlopsAreCountedApart) {
  constexpr Index kLayers = 5;
  const TransformerConfig config = wide(kLayers);
  const StepPlanner planner({config, kTokens, 64, DType::bf16, DType::f32});
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const Strategy strategy = parse_strategy("fsdp=X", mesh);
  const roofline::Hardware hardware = roofline::hardware_named("v5p", mesh, DType::bf16);
  const auto products = [&](Remat remat) {
    Flops sum;
    for (const PlannedKind& kind : planner.kinds(mesh, strategy, hardware, {.remat = remat})) {
      if (kind.kind == "einsum") sum += kind.flops;
    }
    return sum;
  };
  const auto d = static_cast<double>(config.d_model);
  const auto f = static_cast<double>(config.d_ff);
  const double a_token = 2.0 * kLayers * kTokens / 2;  // FLOPs of a weight in a product, on one of two ranks
  const Flops whole = products(Remat::none);
  EXPECT_NEAR((products(Remat::matmuls) - whole).value, 0, 1);
  EXPECT_NEAR((products(Remat::stream) - whole).value / (a_token * (3 * d * d + 2 * d * f)), 1, 1e-9);
  EXPECT_NEAR((products(Remat::block) - whole).value / (a_token * (4 * d * d + 2 * d * f)), 1, 1e-9);
  const PlannedStep plain = planner.price(mesh, strategy, hardware);
  EXPECT_EQ(plain.repeated, Flops(0));
  for (const Index count : {1, 4}) {
    for (const Remat remat : {Remat::matmuls, Remat::stream, Remat::block}) {
      const PlannedStep step = planner.price(mesh, strategy, hardware, {.micro_batches = count, .remat = remat});
      EXPECT_NEAR((step.flops - step.repeated) / plain.flops, 1, 1e-3) << name_of(remat);
      EXPECT_GT(step.math, plain.math);
      EXPECT_LT(step.memory.others, plain.memory.others);
    }
  }
}

TEST(PlannedStages, OfSeveralTimetablesTheFastestCounts) {
  const PlannedStep chosen = planned(8, "Z=4", "pp=Z", {.micro_batches = 8});
  for (const std::string& name : every_timetable()) {
    EXPECT_GE(planned(8, "Z=4", "pp=Z", {.micro_batches = 8, .timetable = name}).scheduled, chosen.scheduled) << name;
  }
}

TEST(PlannedStages, RefuseWhatDoesNotDivide) {
  EXPECT_NE(
      usage_message([] { planned(4, "Z=2", "pp=Z", {.micro_batches = 7}); }).find("7 micro-batches do not divide"),
      std::string::npos);
  EXPECT_NE(usage_message([] { planned(4, "Z=2", "pp=Z", {.timetable = "1b1f"}); }).find("unknown timetable \"1b1f\""),
            std::string::npos);
}

}  // namespace
}  // namespace shardline
