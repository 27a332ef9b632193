#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "program/ir/print.h"
#include "tests/program/programs.h"

/// The book's statements about collectives are nowhere in the code. The derived programs show them.
namespace shardline {
namespace {

/// The steps for which `wanted` holds.
template <class Wanted>
std::vector<Step> steps_that(const RankProgram& program, Wanted wanted) {
  std::vector<Step> result;
  std::copy_if(program.steps.begin(), program.steps.end(), std::back_inserter(result), wanted);
  return result;
}

std::vector<Step> of_kind(const RankProgram& program, StepKind kind, Pass pass) {
  return steps_that(program, [&](const Step& s) { return s.kind == kind && s.region.pass == pass; });
}

/// All lines that make the array named `name`.
std::vector<std::string> lines_making(const RankProgram& program, const std::string& name) {
  std::vector<std::string> result;
  for (const Step& step : program.steps) {
    for (const VersionId v : step.results) {
      if (program.array_of(v).name == name) result.push_back(to_string(program, step));
    }
  }
  return result;
}

/// Under FSDP every gather of a parameter in the forward pass has its derivative: one ReduceScatter of the
/// gradient, of the same dim over the same axes.
TEST(Observations, TheDerivativeOfAllGatherIsReduceScatter) {
  using What = std::tuple<ArrayId, int, Axes>;
  const TrainingStep step = small_training_step(true, false, 2);
  for (const char* strategy : {"fsdp=X,fsdp=Y", "fsdp=X,tp_seq=Y"}) {
    const RankProgram program = partitioned(step.model.program, "X=2,Y=2", strategy, kRegather);
    std::multiset<What> gathers;
    for (const Step& s : of_kind(program, StepKind::all_gather, Pass::forward)) {
      const ArrayId array = program.version(s.operands[0]).array;
      if (program.program.array(array).role == Role::parameter) gathers.emplace(array, s.from_dim, s.axes);
    }
    std::multiset<What> scatters;
    for (const Step& s : of_kind(program, StepKind::reduce_scatter, Pass::backward)) {
      const Array& array = program.array_of(s.operands[0]);
      if (array.primal >= 0 && program.program.array(array.primal).role == Role::parameter) {
        scatters.emplace(array.primal, s.to_dim, s.axes);
      }
    }
    EXPECT_EQ(gathers.size(), 16U) << strategy;  // E, U and seven matrices per layer
    EXPECT_EQ(gathers, scatters) << strategy;
  }
}

TEST(Observations, RegatheringGathersEveryMatrixOnceAPass) {
  const TrainingStep step = small_training_step(true, false, 2);
  const RankProgram program = partitioned(step.model.program, "X=2", "fsdp", kRegather);
  EXPECT_EQ(of_kind(program, StepKind::all_gather, Pass::forward).size(), 16U);
  EXPECT_EQ(of_kind(program, StepKind::all_gather, Pass::backward).size(), 15U);  // the lookup needs no table
  const RankProgram kept = partitioned(step.model.program, "X=2", "fsdp", {Reuse::keep, Reuse::keep});
  EXPECT_EQ(of_kind(kept, StepKind::all_gather, Pass::forward).size(), 16U);
  EXPECT_TRUE(of_kind(kept, StepKind::all_gather, Pass::backward).empty());
}

/// Sums of squares stay unreduced. Replicated ones become unreduced for free. One reduction serves all of them.
TEST(Observations, TheGradientNormIsOneAllReduce) {
  const TrainingStep step = small_training_step(false, false, 2);
  for (const char* strategy : {"fsdp+tp", "fsdp+tp_seq", "zero1=X,tp=Y"}) {
    const RankProgram program = partitioned(step.model.program, "X=2,Y=2", strategy);
    const std::vector<Step> reductions = of_kind(program, StepKind::all_reduce, Pass::update);
    ASSERT_EQ(reductions.size(), 1U) << strategy;
    EXPECT_EQ(to_string(program, reductions[0]), "norm.squares[] = AllReduce_XY(norm.squares[]{U_XY})") << strategy;
    EXPECT_TRUE(of_kind(program, StepKind::reduce_scatter, Pass::update).empty()) << strategy;
  }
  const RankProgram replicated = partitioned(step.model.program, "X=2", "dp");
  EXPECT_TRUE(of_kind(replicated, StepKind::all_reduce, Pass::update).empty());
}

/// The gradient of a norm's weight is summed over exactly the axes that split tokens.
TEST(Observations, GradientsOfNormWeightsAreSummedWhereTokensAreSplit) {
  const TrainingStep step = small_training_step(true);
  const auto reduced = [&](const char* mesh, const char* strategy) {
    const std::vector<std::string> made = lines_making(partitioned(step.model.program, mesh, strategy), "dw_attn1");
    return made.size() == 1 ? std::string("nothing") : made.back();
  };
  EXPECT_EQ(reduced("Y=2", "tp"), "nothing");
  EXPECT_EQ(reduced("Y=2", "tp_seq"), "dw_attn1[D] = AllReduce_Y(dw_attn1[D]{U_Y})");
  EXPECT_EQ(reduced("X=2,Y=2", "fsdp+tp"), "dw_attn1[D_Y] = AllReduce_X(dw_attn1[D_Y]{U_X})");
  EXPECT_EQ(reduced("X=2,Y=2", "fsdp+tp_seq"), "dw_attn1[D] = AllReduce_XY(dw_attn1[D]{U_XY})");
}

/// Under tensor parallelism q, k and v each have an unreduced part of the gradient of the attention's input.
/// The parts are added first and reduced once. The same holds for the two projections of the MLP.
TEST(Observations, GradientsOfQKVAreAddedWhileOwedAndReducedOnce) {
  const TrainingStep step = small_training_step(true, false, 2);
  for (const char* strategy : {"tp", "tp_seq"}) {
    const RankProgram program = partitioned(step.model.program, "Y=2", strategy);
    for (const std::string layer : {"1", "2"}) {
      const std::vector<std::string> dy = lines_making(program, "dy" + layer);
      ASSERT_EQ(dy.size(), 2U) << strategy;
      const std::string owed = "dy" + layer + "[B, T, D]{U_Y}";
      const std::string part = "dy" + layer;
      EXPECT_EQ(dy[0],
                owed + " = " + part + ".1[B, T, D]{U_Y} + " + part + ".2[B, T, D]{U_Y} + " + part + ".3[B, T, D]{U_Y}");
      EXPECT_NE(dy[1].find("ReduceScatter_Y(" + owed), std::string::npos) << dy[1];
      EXPECT_EQ(lines_making(program, "dn" + layer).size(), 2U) << strategy;
    }
    EXPECT_EQ(of_kind(program, StepKind::reduce_scatter, Pass::backward).size(), 5U) << strategy;  // and dz
    EXPECT_EQ(of_kind(program, StepKind::reduce_scatter, Pass::forward).size(), 5U) << strategy;   // a, d; x0
  }
}

/// The loss over a split vocabulary reduces one small array per phase, never the logits.
TEST(Observations, LogitsAreNeverGathered) {
  const TrainingStep step = small_training_step(true);
  const RankProgram program = partitioned(step.model.program, "Y=2", "tp");
  EXPECT_EQ(lines_making(program, "logits").size(), 1U);
  EXPECT_EQ(lines_making(program, "loss.max").back(), "loss.max[B, T] = AllReduceMax_Y(loss.max[B, T]{Max_Y})");
  EXPECT_EQ(lines_making(program, "loss.sum").back(), "loss.sum[B, T] = AllReduce_Y(loss.sum[B, T]{U_Y})");
}

}  // namespace
}  // namespace shardline
