// Training on a mesh: its memory, its report of non-finite weights, and its repeatability. parity_test.cpp
// checks that every layout trains the same model.
#include "models/training/training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/training/training_memory.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

constexpr Index kSteps = 10;

struct Outcome {
  std::vector<StepResult> steps;
  double validation = 0;
};

Outcome train(const mpi::Communicator& comm, const std::string& axes, const std::string& strategy, DType dtype) {
  const Mesh mesh(AbstractMesh::parse(axes), comm);
  collectives::Engine engine(mesh);
  TrainingOptions options = parity_options(dtype, kSteps);
  options.prices = any_hardware(mesh.axes());
  const Strategy chosen = parse_strategy(strategy, mesh.axes());
  Trainer trainer(engine, plan_training({parity_config(false), options, chosen}, mesh.axes()), options.prices);
  const ByteData data = parity_data();
  Outcome run;
  for (Index step = 0; step < kSteps; ++step) run.steps.push_back(trainer.step(data, step));
  Index windows = 0;
  run.validation = trainer.evaluate(data, 3, windows);
  return run;
}

void expect_close(const Outcome& run, const Outcome& reference, double tolerance) {
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const StepResult& want = reference.steps[i];
    EXPECT_NEAR(run.steps[i].loss, want.loss, tolerance * want.loss) << "step " << i + 1;
    EXPECT_NEAR(run.steps[i].grad_norm, want.grad_norm, tolerance * want.grad_norm) << "step " << i + 1;
  }
  EXPECT_NEAR(run.validation, reference.validation, tolerance * reference.validation);
}

struct Layout {
  int ranks;
  const char* mesh;
  const char* strategy;
};

class Training : public testing::Test {
 protected:
  mpi::Communicator world_ = mpi::Communicator::world();
  mpi::Communicator alone_ = world_.split(world_.rank(), 0);
};

TEST_F(Training, LossFallsOnOneRank) {
  const Outcome run = train(alone_, "X=1", "", DType::f64);
  EXPECT_LT(run.steps.back().loss, run.steps.front().loss - 0.5);
}

TEST_F(Training, LayoutsAreCloseInF32AndTheSameBitsWhenRepeated) {
  const Outcome reference = train(alone_, "X=1", "", DType::f32);
  const std::vector<Layout> some = {{1, "X=1", "dp=X"}, {2, "X=2", "zero1=X"},         {3, "X=3", "fsdp=X"},
                                    {3, "Y=3", "tp=Y"}, {4, "X=2,Y=2", "fsdp=X,tp=Y"}, {4, "Y=4", "tp_seq=Y"}};
  for (const Layout& layout : some) {
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
      const Outcome run = train(part, layout.mesh, layout.strategy, DType::f32);
      const Outcome again = train(part, layout.mesh, layout.strategy, DType::f32);
      expect_close(run, reference, 1e-4);
      for (std::size_t i = 0; i < run.steps.size(); ++i) {
        EXPECT_EQ(run.steps[i].loss, again.steps[i].loss) << "step " << i + 1;
        EXPECT_EQ(run.steps[i].grad_norm, again.steps[i].grad_norm) << "step " << i + 1;
      }
    });
  }
}

TEST_F(Training, MemoryIsWhatLivenessPredicts) {
  const Mesh mesh(AbstractMesh::parse("X=" + std::to_string(world_.size())), world_);
  const ByteData data = parity_data();
  for (const char* strategy : {"dp", "zero1", "fsdp"}) {
    SCOPED_TRACE(strategy);
    collectives::Engine engine(mesh);
    TrainingOptions options = parity_options(DType::f64, kSteps);
    options.prices = any_hardware(mesh.axes());
    const Strategy chosen = parse_strategy(strategy, mesh.axes());
    Trainer trainer(engine, plan_training({parity_config(false), options, chosen}, mesh.axes()), options.prices);
    for (Index step = 0; step < 2; ++step) trainer.step(data, step);  // from now on scratch buffers exist
    const Index before = tensor_memory().now;
    const double resting = static_cast<double>(before);
    reset_tensor_peak();
    trainer.step(data, 2);
    EXPECT_EQ(tensor_memory().now, before) << "a step must free what it took";
    EXPECT_GE(trainer.predicted_memory().value, 0.5 * resting);
    EXPECT_NEAR(static_cast<double>(tensor_memory().peak), trainer.predicted_memory().value,
                0.02 * trainer.predicted_memory().value);
  }
}

/// One element of one rank's block is wrong, and every rank learns it.
TEST_F(Training, AWeightThatIsNotFiniteIsFoundOnEveryRank) {
  const Mesh mesh(AbstractMesh::parse("X=2,Y=2"), mpi::Communicator::world());
  collectives::Engine engine(mesh);
  TrainingOptions options = parity_options(DType::f32, kSteps);
  options.prices = any_hardware(mesh.axes());
  const Strategy strategy = parse_strategy("fsdp=X,tp=Y", mesh.axes());
  const TrainingStep step = make_training_step(parity_config(false), options.batch, options.optimizer);
  const std::size_t last = step.model.parameters.size() - 1;
  const auto found = [&](std::size_t at, double value) {
    const auto start = [&](State& state) {
      for (std::size_t i = 0; i < step.model.parameters.size(); ++i) {
        const Array& array = step.model.program.array(step.model.parameters[i].array);
        const Index end = element_count(array.shape) - 1;
        state.fill(array.name, [&](Index k) { return i >= at && k == end ? value : 0; });
      }
    };
    TrainingPlan plan = plan_training({parity_config(false), options, strategy, start}, mesh.axes());
    const Trainer trainer(engine, std::move(plan), options.prices);
    return trainer.non_finite_parameter();
  };
  const std::string name = step.model.parameters[last].checkpoint_name;
  EXPECT_EQ(found(last, 1.0), "");
  EXPECT_EQ(found(last, std::nan("")), name + " holds NaN");
  EXPECT_EQ(found(last, 1e39), name + " holds infinity");  // in f32
  EXPECT_EQ(found(1, -1e39), step.model.parameters[1].checkpoint_name + " holds infinity");
}

TEST_F(Training, WhatARunTakesIsKnownBefore) {
  const Mesh mesh(AbstractMesh::parse("X=" + std::to_string(world_.size())), world_);
  const ByteData data = parity_data();
  for (const Index sequences : {Index{5}, Index{40}}) {
    for (const char* strategy : {"dp", "zero1", "zero2", "fsdp", "pp"}) {
      SCOPED_TRACE(strategy);
      collectives::Engine engine(mesh);
      TrainingOptions options = parity_options(DType::f64, kSteps);
      options.batch.sequences = sequences;
      options.prices = any_hardware(mesh.axes());
      const Strategy chosen = parse_strategy(strategy, mesh.axes());
      TrainingPlan plan = plan_training({parity_config(false), options, chosen}, mesh.axes());
      const TrainingMemory known = training_memory(plan, plan.stage_of(mesh.axes(), mesh.rank()),
                                                   plan.rank_in_stage(mesh.axes(), mesh.rank()), false);
      const Index before = tensor_memory().now;
      reset_tensor_peak();
      Trainer trainer(engine, std::move(plan), options.prices);
      for (Index step = 0; step < 2; ++step) trainer.step(data, step);
      Index windows = 0;
      trainer.evaluate(data, 1, windows);
      const auto taken = static_cast<double>(tensor_memory().peak - before);
      constexpr double kScalars = 64;  // bytes read from a result
      EXPECT_LE(taken, (known.own + known.arena).value + kScalars);
      EXPECT_GE(taken, 0.5 * (known.own + known.arena).value);
    }
  }
}

}  // namespace
}  // namespace shardline
