// Every mesh and strategy trains the same model: one job of four ranks, in which the first ranks form each mesh in
// turn, against a single rank.
#include "models/training/training.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "models/checkpoint/checkpoint.h"
#include "models/strategy/auto_strategy.h"
#include "models/training/training_memory.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

constexpr Index kSteps = 10;

/// Sizes that no mesh here divides: 3 key-value heads of 2 queries, D 20, F 22, V 257, 5 sequences of 7 tokens.
TransformerConfig small_config(bool tied) {
  return {.vocab = 257,
          .d_model = 20,
          .layers = 2,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 4,
          .d_ff = 22,
          .initializer_range = 0.3,
          .tied = tied};
}

TrainingOptions small_options(DType dtype) {
  TrainingOptions options;
  options.batch = {5, 7};
  options.learning_rate = 1e-2;
  options.steps = kSteps;
  options.warmup = 2;
  options.adamw.weight_decay = 0.1;
  options.adamw.clip_norm = 0.5;  // small enough that the norm matters in every step
  options.dtype = dtype;
  options.seed = 3;
  return options;
}

ByteData small_data() {
  return ByteData({"text"}, 7, 3, [](const std::string&) {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "line " + std::to_string(i * i % 97) + ";\n";
    return text;
  });
}

/// Links and rates that nothing in these tests depends on.
roofline::Hardware any_hardware(const AbstractMesh& mesh) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) hardware.links[axis] = {Seconds(1e-6), BytesPerSecond(1e9)};
  return hardware;
}

struct Outcome {
  std::vector<StepResult> steps;
  double validation = 0;
  std::vector<Tensor> weights;
};

Outcome train(const mpi::Communicator& comm, const std::string& axes, const std::string& strategy, DType dtype,
              bool tied = false, Policy policy = {}, const ScheduleOptions& schedule = {}) {
  const Mesh mesh(AbstractMesh::parse(axes), comm);
  collectives::Engine engine(mesh);
  TrainingOptions options = small_options(dtype);
  options.policy = policy;
  options.schedule = schedule;
  options.prices = any_hardware(mesh.axes());
  options.by_price = strategy == "auto";  // operations by price, even where the table is as cheap
  Strategy chosen;
  if (options.by_price) {
    const Program program = make_training_step(small_config(tied), options.batch, options.adamw).model.program;
    chosen = price_strategies(program, mesh.axes(), policy, {.real = dtype}, options.prices).at(0).strategy;
  } else {
    chosen = parse_strategy(strategy, mesh.axes());
  }
  Trainer trainer(engine, plan_training(small_config(tied), options, chosen, mesh.axes()), options.prices);
  const ByteData data = small_data();
  Outcome run;
  for (Index step = 0; step < kSteps; ++step) run.steps.push_back(trainer.step(data, step));
  Index windows = 0;
  run.validation = trainer.evaluate(data, 3, windows);
  for (std::size_t i = 0; i < trainer.model().parameters.size(); ++i) {
    run.weights.push_back(trainer.gather_parameter(i).as(DType::f64));
  }
  return run;
}

void expect_same(const Outcome& run, const Outcome& reference, double tolerance) {
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

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {1, "X=1", "fsdp=X"},
      {1, "X=1", "auto"},
      {2, "X=2", "auto"},
      {3, "X=3", "auto"},
      {4, "X=2,Y=2", "auto"},
      {2, "X=2", "dp=X"},
      {2, "X=2", "zero1=X"},
      {2, "X=2", "fsdp=X"},
      {2, "Y=2", "tp=Y"},
      {2, "Y=2", "tp_seq=Y"},
      {2, "Y=2", "tp_g=Y"},
      {3, "X=3", "dp=X"},
      {3, "X=3", "zero1=X"},
      {3, "X=3", "fsdp=X"},
      {3, "Y=3", "tp=Y"},
      {3, "Y=3", "tp_seq=Y"},
      {3, "Y=3", "tp_g=Y"},
      {4, "X=4", "dp=X"},
      {4, "X=4", "zero1=X"},
      {4, "X=4", "fsdp=X"},
      {4, "Y=4", "tp=Y"},
      {4, "Y=4", "tp_seq=Y"},
      {4, "X=2,Y=2", "fsdp=X,tp=Y"},
      {4, "X=2,Y=2", "fsdp=X,tp_seq=Y"},
      {4, "X=2,Y=2", "zero1=X,tp_g=Y"},
      {4, "Y=2,X=2", "dp=X,tp=Y"},
  };
  return kLayouts;
}

/// Runs `body` on the first `ranks` ranks of the job, and lets the others wait.
template <class Body>
void on_first(const mpi::Communicator& world, int ranks, Body body) {
  const mpi::Communicator part = world.split(world.rank() < ranks ? 0 : 1, world.rank());
  if (world.rank() < ranks) body(part);
  world.barrier();
}

class Training : public testing::Test {
 protected:
  mpi::Communicator world_ = mpi::Communicator::world();
  mpi::Communicator alone_ = world_.split(world_.rank(), 0);
};

TEST_F(Training, LossFallsOnOneRank) {
  const Outcome run = train(alone_, "X=1", "", DType::f64);
  EXPECT_LT(run.steps.back().loss, run.steps.front().loss - 0.5);
}

TEST_F(Training, EveryLayoutGivesTheSameLossesInF64) {
  const Outcome reference = train(alone_, "X=1", "", DType::f64);
  for (const Layout& layout : layouts()) {
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
      const Outcome run = train(part, layout.mesh, layout.strategy, DType::f64);
      expect_same(run, reference, 1e-10);
      for (std::size_t i = 0; i < reference.weights.size(); ++i) {
        double largest = 0;
        for (const double w : reference.weights[i].view<double>()) largest = std::max(largest, std::abs(w));
        for (Index k = 0; k < reference.weights[i].size(); ++k) {
          ASSERT_NEAR(run.weights[i].view<double>()[k], reference.weights[i].view<double>()[k], 1e-10 * largest)
              << "parameter " << i << " element " << k;
        }
      }
    });
  }
}

TEST_F(Training, TiedEmbeddingAndOtherPoliciesChangeNothing) {
  const Outcome reference = train(alone_, "X=1", "", DType::f64, true);
  for (const Policy& policy : {Policy{Reuse::regather, Reuse::regather}, Policy{Reuse::keep, Reuse::keep}}) {
    for (const Layout& layout : {Layout{3, "Y=3", "tp=Y"}, Layout{4, "X=2,Y=2", "fsdp=X,tp=Y"}}) {
      on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
        SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
        expect_same(train(part, layout.mesh, layout.strategy, DType::f64, true, policy), reference, 1e-10);
      });
    }
  }
}

/// Everything in flight that can be, collectives fused with products that are much too small for it, and everything in
/// its place.
TEST_F(Training, SchedulesChangeNothing) {
  const Outcome reference = train(alone_, "X=1", "", DType::f64);
  const std::vector<Layout> some = {{2, "X=2", "fsdp=X"},          {3, "X=3", "zero1=X"},  {3, "Y=3", "tp=Y"},
                                    {4, "X=2,Y=2", "fsdp=X,tp=Y"}, {4, "Y=4", "tp_seq=Y"}, {2, "Y=2", "tp_g=Y"}};
  using Fuse = ScheduleOptions::Fuse;
  for (const ScheduleOptions& schedule :
       {ScheduleOptions{.overlap = false, .bundle_bytes = 0, .fuse = Fuse::never},
        ScheduleOptions{.distance = 3, .bundle_bytes = 1 << 30, .fuse = Fuse::always, .panel = Flops(2000)},
        ScheduleOptions{.distance = 0, .bundle_bytes = 500, .fuse = Fuse::always, .panel = Flops(1)}}) {
    for (const Layout& layout : some) {
      on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
        SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
        expect_same(train(part, layout.mesh, layout.strategy, DType::f64, false, {}, schedule), reference, 1e-10);
      });
    }
  }
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
      expect_same(run, reference, 1e-4);
      for (std::size_t i = 0; i < run.steps.size(); ++i) {
        EXPECT_EQ(run.steps[i].loss, again.steps[i].loss) << "step " << i + 1;
        EXPECT_EQ(run.steps[i].grad_norm, again.steps[i].grad_norm) << "step " << i + 1;
      }
    });
  }
}

TEST_F(Training, MemoryIsWhatLivenessPredicts) {
  const Mesh mesh(AbstractMesh::parse("X=" + std::to_string(world_.size())), world_);
  const ByteData data = small_data();
  for (const char* strategy : {"dp", "zero1", "fsdp"}) {
    SCOPED_TRACE(strategy);
    collectives::Engine engine(mesh);
    TrainingOptions options = small_options(DType::f64);
    options.prices = any_hardware(mesh.axes());
    const Strategy chosen = parse_strategy(strategy, mesh.axes());
    Trainer trainer(engine, plan_training(small_config(false), options, chosen, mesh.axes()), options.prices);
    for (Index step = 0; step < 2; ++step) trainer.step(data, step);  // scratch buffers are there from now on
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

/// One element of one rank's block; every rank learns of it.
TEST_F(Training, AWeightThatIsNotFiniteIsFoundOnEveryRank) {
  const Mesh mesh(AbstractMesh::parse("X=2,Y=2"), mpi::Communicator::world());
  collectives::Engine engine(mesh);
  TrainingOptions options = small_options(DType::f32);
  options.prices = any_hardware(mesh.axes());
  const Strategy strategy = parse_strategy("fsdp=X,tp=Y", mesh.axes());
  const TrainingStep step = make_training_step(small_config(false), options.batch, options.adamw);
  const std::size_t last = step.model.parameters.size() - 1;
  const auto found = [&](std::size_t at, double value) {
    TrainingPlan plan = plan_training(small_config(false), options, strategy, mesh.axes());
    const Trainer trainer(engine, std::move(plan), options.prices, [&](std::size_t i) {
      Tensor whole = Tensor::zeros(DType::f64, step.model.program.array(step.model.parameters[i].array).shape);
      if (i >= at) whole.view<double>()[whole.size() - 1] = value;
      return whole;
    });
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
  const ByteData data = small_data();
  for (const Index sequences : {Index{5}, Index{40}}) {
    for (const char* strategy : {"dp", "zero1", "fsdp"}) {
      SCOPED_TRACE(strategy);
      collectives::Engine engine(mesh);
      TrainingOptions options = small_options(DType::f64);
      options.batch.sequences = sequences;
      options.prices = any_hardware(mesh.axes());
      const Strategy chosen = parse_strategy(strategy, mesh.axes());
      TrainingPlan plan = plan_training(small_config(false), options, chosen, mesh.axes());
      const TrainingMemory known = training_memory(plan, mesh.rank(), false);
      const Index before = tensor_memory().now;
      reset_tensor_peak();
      Trainer trainer(engine, std::move(plan), options.prices);
      for (Index step = 0; step < 2; ++step) trainer.step(data, step);
      Index windows = 0;
      trainer.evaluate(data, 1, windows);
      const auto taken = static_cast<double>(tensor_memory().peak - before);
      constexpr double kScalars = 64;  // bytes of what is read from a result
      EXPECT_LE(taken, (known.own + known.arena).value + kScalars);
      EXPECT_GE(taken, 0.5 * (known.own + known.arena).value);
    }
  }
}

}  // namespace
}  // namespace shardline
