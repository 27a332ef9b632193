// Training in bf16: weights and activations stored in bf16, sums in f32, masters and moments in f32.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "program/ir/print.h"
#include "runtime/layout/blocks.h"
#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kSteps = 12;
constexpr Tolerance kRounded{.loss = 0.01, .norm = 0.05};

Outcome train(const mpi::Communicator& comm, const Layout& layout, DType dtype) {
  return Job(comm, parity_run(layout, dtype, kSteps)).train(parity_data(), kSteps, 3);
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {"X=1", "dp=X"},
      {"X=2", "dp=X"},
      {"X=2", "zero1=X"},
      {"X=3", "fsdp=X"},
      {"X=4", "fsdp=X", {.micro_batches = 2}},
      {"X=3", "dp=X", {.micro_batches = 2}},
      {"X=2", "zero1=X", {.micro_batches = 2}},
      {"Y=3", "tp=Y"},
      {"X=2,Y=2", "fsdp=X,tp=Y", {.remat = Remat::matmuls}},
      {"Y=4", "tp_seq=Y"},
      {"Y=2", "tp_g=Y"},
      {"Z=2", "pp=Z", {.micro_batches = 2}},
      {"Z=2,X=2", "pp=Z,zero1=X", {.micro_batches = 4, .remat = Remat::block}},
  };
  return kLayouts;
}

/// With one table for the embedding and the output projection. tp splits it by the vocabulary.
const std::vector<Layout>& tied_layouts() {
  static const std::vector<Layout> kLayouts = {
      {"X=1", "dp=X", {.remat = Remat::block}, true},
      {"X=3", "dp=X", {}, true},
      {"X=2", "zero1=X", {.micro_batches = 2}, true},
      {"X=4", "fsdp=X", {}, true},
      {"Y=3", "tp=Y", {}, true},
      {"X=2,Y=2", "fsdp=X,tp=Y", {.micro_batches = 2}, true},
      {"Z=2", "pp=Z", {}, true},
      {"Z=3", "pp=Z", {.micro_batches = 4}, true},
      {"Z=2,X=2", "pp=Z,fsdp=X", {.micro_batches = 2, .remat = Remat::block}, true},
  };
  return kLayouts;
}

class Bf16Training : public OnRanks {};

/// Rounding moves the losses of the first steps by less than a percent and the norms by less than five, however the
/// model is split.
class Bf16Layouts : public Bf16Training, public testing::WithParamInterface<bool> {};

TEST_P(Bf16Layouts, LearnAsF32Does) {
  const bool tied = GetParam();
  const Outcome f32 = train(alone_, {.tied = tied}, DType::f32);
  const Outcome bf16 = train(alone_, {.tied = tied}, DType::bf16);
  EXPECT_LT(bf16.steps.back().loss, bf16.steps.front().loss - 0.5);
  EXPECT_NE(bf16.steps.back().loss, f32.steps.back().loss);
  expect_close(bf16, f32, kRounded);
  for (const Layout& layout : tied ? tied_layouts() : layouts()) {
    const Index ranks = AbstractMesh::parse(layout.mesh).ranks();
    on_first(world_, static_cast<int>(ranks), [&](const mpi::Communicator& part) {
      SCOPED_TRACE(layout.mesh + " " + layout.strategy);
      const Outcome run = train(part, layout, DType::bf16);
      expect_close(run, bf16, kRounded);
      expect_close(run, f32, kRounded);
      expect_same_bits(train(part, layout, DType::bf16), run);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(TiedOrNot, Bf16Layouts, testing::Bool());

/// A master is f32 on every rank and was not rounded to bf16. It is equal on all ranks that hold the same block.
TEST_F(Bf16Training, MastersAreF32AndReplicasEqual) {
  for (const char* strategy : {"dp=X", "fsdp=X"}) {
    Job job(world_, parity_run({all_on_x_, strategy}, DType::bf16, kSteps));
    job.train(parity_data(), 3, 1);
    const Trainer& trainer = job.trainer();
    for (const ModelParameter& parameter : trainer.model().parameters) {
      const Array& array = trainer.program().program.array(parameter.array);
      const Tensor& block = trainer.state().block(array.name);
      EXPECT_EQ(block.dtype(), DType::f32) << array.name;
      const auto elements = block.view<float>();
      const auto held_by_bf16 = [](float value) { return static_cast<float>(BFloat16(value)) == value; };
      EXPECT_LE(std::count_if(elements.begin(), elements.end(), held_by_bf16), block.size() / 8) << array.name;
      if (block.size() != element_count(array.shape)) continue;  // no replica
      const std::string mine(reinterpret_cast<const char*>(block.data()), static_cast<std::size_t>(block.bytes()));
      EXPECT_EQ(world_.broadcast(mine, 0) == mine, true) << array.name << " under " << strategy;
    }
  }
}

// What follows runs no step.

TrainingPlan planned(const Layout& layout, DType dtype = DType::bf16) {
  TransformerConfig config = parity_config(layout.tied ? ParityTask::tied : ParityTask::usual);
  config.d_model = 64;
  config.d_ff = 256;
  TrainingOptions options = parity_options(dtype, kSteps);
  options.batch = {16, 128};
  const RunOnMesh made = laid_out(layout, config, options);
  return plan_training(made.run, made.mesh);
}

using Lines = std::vector<std::string>;

Lines lines_of(const TrainingPlan& plan, std::size_t stage = 0) { return lines(plan.stages[stage].step->program()); }

Index count(const Lines& all, const std::string& part) {
  return std::count_if(all.begin(), all.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// Bytes that the gathers of weights make, and reductions of their gradients read, over all steps of the program.
struct Moved {
  double gathered = 0;
  double reduced = 0;
};

Moved moved_weights(const TrainingPlan& plan) {
  const RankProgram& program = plan.stages[0].step->program();
  Moved moved;
  for (const Step& step : program.steps) {
    if (!communicates(step.kind)) continue;
    const Array& array = program.array_of(step.operands[0]);
    if (array.dims.size() < 2) continue;
    const bool of_weight = array.primal >= 0 && program.program.array(array.primal).dims.size() > 1 &&
                           program.program.array(array.primal).role == Role::parameter;
    if (step.kind == StepKind::all_gather && array.role == Role::parameter) {
      moved.gathered += local_bytes(program, step.results[0], 0).value;
      EXPECT_EQ(step.wire, collectives::Wire::automatic);
    } else if (of_weight) {
      moved.reduced += local_bytes(program, step.operands[0], 0).value;
    }
    const bool reduces = step.kind == StepKind::all_reduce || step.kind == StepKind::reduce_scatter;
    EXPECT_EQ(step.wire == collectives::Wire::exchange, reduces && array.dtype == DType::bf16) << array.name;
  }
  return moved;
}

TEST(Bf16Plan, WeightsAndGradientsMoveInHalfTheBytes) {
  for (const char* strategy : {"fsdp=X", "zero1=X", "dp=X"}) {
    const Moved narrow = moved_weights(planned({"X=4", strategy}));
    const Moved wide = moved_weights(planned({"X=4", strategy}, DType::f32));
    EXPECT_GT(wide.reduced, 0) << strategy;
    EXPECT_EQ(narrow.reduced, wide.reduced / 2) << strategy;
    if (std::string(strategy) == "fsdp=X") {
      EXPECT_GT(wide.gathered, 0);
      EXPECT_EQ(narrow.gathered, wide.gathered / 2);
    }
  }
}

/// The master is cast where it lies, before the gather, in every row that splits it.
TEST(Bf16Plan, CastsComeBeforeGathers) {
  const Lines all = lines_of(planned({"X=2", "fsdp=X"}));
  const auto cast = std::find(all.begin(), all.end(), "W_up1.bf16[D_X, F] = cast(W_up1[D_X, F], bf16)");
  const auto gather = std::find(all.begin(), all.end(), "W_up1.bf16[D, F] = AllGather_X(W_up1.bf16[D_X, F])");
  ASSERT_NE(cast, all.end());
  ASSERT_NE(gather, all.end());
  EXPECT_LT(cast - all.begin(), gather - all.begin());
  EXPECT_EQ(count(all, "W_up1.bf16[D_X, F] = cast"), 1);
  EXPECT_EQ(count(all, "dW_up1[D_X, F] = cast(dW_up1.bf16[D_X, F], f32)"), 1);
  EXPECT_EQ(count(all, "dW_up1.bf16[D_X, F] = ReduceScatter_X(dW_up1.bf16[D, F]{U_X}"), 1);
}

/// Many micro-batches read one cast.
TEST(Bf16Plan, ACastServesAllMicroBatches) {
  for (const char* strategy : {"fsdp=X", "zero1=X"}) {
    const Lines all = lines_of(planned({"X=2", strategy, {.micro_batches = 4, .remat = Remat::block}}));
    EXPECT_EQ(count(all, "W_up1.bf16[D_X, F] = cast"), 1) << strategy;
    EXPECT_EQ(count(all, "W_up1.bf16[D, F] = AllGather_X"), std::string(strategy) == "zero1=X" ? 1 : 8) << strategy;
  }
}

/// The lookup, the products, all micro-batches and the backward pass read one copy of a tied table. Each stage that
/// reads it casts its own. No copy travels between stages.
TEST(Bf16Plan, OneCastServesBothReadersOfATiedTable) {
  for (const Layout& layout : tied_layouts()) {
    const TrainingPlan plan = planned(layout);
    const std::size_t last = plan.stages.size() - 1;
    for (std::size_t stage = 0; stage <= last; ++stage) {
      SCOPED_TRACE(fmt::format("{} {}, stage {}", layout.mesh, layout.strategy, stage));
      const Lines all = lines_of(plan, stage);
      EXPECT_EQ(count(all, "= cast(E["), stage == 0 || stage == last ? 1 : 0);
      const Index batches = layout.form.micro_batches;
      EXPECT_EQ(count(all, "= embed(E.bf16["), stage == 0 ? batches : 0);
      EXPECT_EQ(count(all, " *_D E.bf16["), stage == last ? batches : 0);
      EXPECT_EQ(count(all, "(E.bf16[") - count(all, "AllGather_X(E.bf16["), stage == 0 ? batches : 0);
    }
  }
}

/// Both parts of the gradient are owed until their sum, which is reduced once. With micro-batches each part is cast
/// where it is made, so that a stage adds up its own in f32.
TEST(Bf16Plan, TheGradientOfATiedTable) {
  const Lines once = lines_of(planned({"X=2", "dp=X", {}, true}));
  EXPECT_EQ(count(once, "dE.bf16[V, D]{U_X} = dE.bf16.1[V, D]{U_X} + dE.bf16.2[V, D]{U_X}"), 1);
  EXPECT_EQ(count(once, "dE.bf16[V, D] = AllReduce_X(dE.bf16[V, D]{U_X}) over wire exchange"), 1);
  EXPECT_EQ(count(once, "dE[V, D] = cast(dE.bf16[V, D], f32)"), 1);
  EXPECT_EQ(count(once, "_X(dE"), 1);
  const Lines twice = lines_of(planned({"X=2", "fsdp=X", {.micro_batches = 2}, true}));
  for (const char* part : {"1", "2"}) {
    const std::string reduced = fmt::format("dE.bf16.{0}[V, D_X] = ReduceScatter_X(dE.bf16.{0}[V, D]{{U_X}})", part);
    EXPECT_EQ(count(twice, reduced + " over wire exchange"), 2);
    EXPECT_EQ(count(twice, fmt::format("dE.{0}[V, D_X] = cast(dE.bf16.{0}[V, D_X], f32)", part)), 2);
  }
  EXPECT_EQ(count(twice, "step.dE[V, D_X] = sum.dE.1'[V, D_X] + sum.dE.2'[V, D_X]"), 1);
}

/// What a step holds beside weights, moments and gradients.
double activations_of(DType dtype) {
  const TrainingPlan plan = planned({}, dtype);
  const Compiled& step = *plan.stages[0].step;
  double state = 0;
  for (const auto& [array, version] : step.program().inputs) {
    if (step.program().program.array(array).role != Role::tokens) {
      state += local_bytes(step.program(), version, 0).value;
    }
  }
  return step.liveness().peak(0).value - state;
}

TEST(Bf16Plan, ActivationsTakeLittleMoreThanHalf) {
  EXPECT_LE(activations_of(DType::bf16), 0.55 * activations_of(DType::f32));
}

TEST(Bf16Plan, EveryRowOnOneToFourRanks) {
  for (const AxisRole& role : training_roles()) {
    for (const char* ranks : {"1", "2", "3", "4"}) {
      for (const Index micro_batches : {1, 2}) {
        SCOPED_TRACE(role.name() + " on " + ranks);
        for (const bool tied : {false, true}) {
          planned({std::string("X=") + ranks, role.name() + "=X", {.micro_batches = micro_batches}, tied});
        }
      }
    }
  }
}

}  // namespace
}  // namespace shardline
