// Training in bf16: weights and activations stored in bf16, sums in f32, masters and moments in f32.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/training/training.h"
#include "program/ir/print.h"
#include "runtime/layout/blocks.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

constexpr Index kSteps = 12;

struct Outcome {
  std::vector<StepResult> steps;
  double validation = 0;
};

Outcome train(const mpi::Communicator& comm, const std::string& axes, const std::string& strategy, DType dtype,
              const StepForm& form = {}) {
  const Mesh mesh(AbstractMesh::parse(axes), comm);
  collectives::Engine engine(mesh);
  TrainingOptions options = parity_options(dtype, kSteps);
  options.prices = any_hardware(mesh.axes());
  options.form = form;
  const Strategy chosen = parse_strategy(strategy, mesh.axes());
  Trainer trainer(engine, plan_training({parity_config(false), options, chosen}, mesh.axes()), options.prices);
  const ByteData data = parity_data();
  Outcome run;
  for (Index step = 0; step < kSteps; ++step) run.steps.push_back(trainer.step(data, step));
  Index windows = 0;
  run.validation = trainer.evaluate(data, 3, windows);
  EXPECT_EQ(trainer.non_finite_parameter(), "");
  return run;
}

void expect_close(const Outcome& run, const Outcome& reference, double tolerance) {
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const double want = reference.steps[i].loss;
    EXPECT_NEAR(run.steps[i].loss, want, tolerance * want) << "step " << i + 1;
  }
  EXPECT_NEAR(run.validation, reference.validation, tolerance * reference.validation);
}

struct Layout {
  int ranks;
  const char* mesh;
  const char* strategy;
  StepForm form = {};
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kLayouts = {
      {1, "X=1", "dp=X"},
      {2, "X=2", "dp=X"},
      {2, "X=2", "zero1=X"},
      {3, "X=3", "fsdp=X"},
      {4, "X=4", "fsdp=X", {.micro_batches = 2}},
      {3, "X=3", "dp=X", {.micro_batches = 2}},
      {2, "X=2", "zero1=X", {.micro_batches = 2}},
      {3, "Y=3", "tp=Y"},
      {4, "X=2,Y=2", "fsdp=X,tp=Y", {.remat = Remat::matmuls}},
      {4, "Y=4", "tp_seq=Y"},
      {2, "Y=2", "tp_g=Y"},
      {2, "Z=2", "pp=Z", {.micro_batches = 2}},
      {4, "Z=2,X=2", "pp=Z,zero1=X", {.micro_batches = 4, .remat = Remat::block}},
  };
  return kLayouts;
}

class Bf16Training : public testing::Test {
 protected:
  mpi::Communicator world_ = mpi::Communicator::world();
  mpi::Communicator alone_ = world_.split(world_.rank(), 0);
};

/// Rounding moves the losses of the first steps by less than a percent, however the model is split.
TEST_F(Bf16Training, EveryLayoutLearnsAsF32Does) {
  const Outcome f32 = train(alone_, "X=1", "", DType::f32);
  const Outcome bf16 = train(alone_, "X=1", "", DType::bf16);
  EXPECT_LT(bf16.steps.back().loss, bf16.steps.front().loss - 0.5);
  EXPECT_NE(bf16.steps.back().loss, f32.steps.back().loss);
  expect_close(bf16, f32, 0.01);
  for (const Layout& layout : layouts()) {
    on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
      SCOPED_TRACE(std::string(layout.mesh) + " " + layout.strategy);
      const Outcome run = train(part, layout.mesh, layout.strategy, DType::bf16, layout.form);
      expect_close(run, bf16, 0.01);
      const Outcome again = train(part, layout.mesh, layout.strategy, DType::bf16, layout.form);
      for (std::size_t i = 0; i < run.steps.size(); ++i) {
        EXPECT_EQ(run.steps[i].loss, again.steps[i].loss) << "step " << i + 1;
        EXPECT_EQ(run.steps[i].grad_norm, again.steps[i].grad_norm) << "step " << i + 1;
      }
    });
  }
}

/// A master is f32 on every rank, and equal on all ranks that hold the same block.
TEST_F(Bf16Training, MastersAreF32AndReplicasEqual) {
  for (const char* strategy : {"dp=X", "fsdp=X"}) {
    const Mesh mesh(AbstractMesh::parse("X=" + std::to_string(world_.size())), world_);
    collectives::Engine engine(mesh);
    TrainingOptions options = parity_options(DType::bf16, kSteps);
    options.prices = any_hardware(mesh.axes());
    Trainer trainer(engine,
                    plan_training({parity_config(false), options, parse_strategy(strategy, mesh.axes())}, mesh.axes()),
                    options.prices);
    const ByteData data = parity_data();
    for (Index step = 0; step < 3; ++step) trainer.step(data, step);
    for (const ModelParameter& parameter : trainer.model().parameters) {
      const Array& array = trainer.program().program.array(parameter.array);
      const Tensor& block = trainer.state().block(array.name);
      EXPECT_EQ(block.dtype(), DType::f32) << array.name;
      if (block.size() != element_count(array.shape)) continue;  // no replica
      const std::string mine(reinterpret_cast<const char*>(block.data()), static_cast<std::size_t>(block.bytes()));
      EXPECT_EQ(world_.broadcast(mine, 0) == mine, true) << array.name << " under " << strategy;
    }
  }
}

// What follows runs no step.

TrainingPlan planned(const std::string& mesh_text, const std::string& strategy, DType dtype,
                     const StepForm& form = {}) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  TransformerConfig config = parity_config(false);
  config.d_model = 64;
  config.d_ff = 256;
  TrainingOptions options = parity_options(dtype, kSteps);
  options.batch = {16, 128};
  options.prices = any_hardware(mesh);
  options.form = form;
  return plan_training({config, options, parse_strategy(strategy, mesh)}, mesh);
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
    const Moved narrow = moved_weights(planned("X=4", strategy, DType::bf16));
    const Moved wide = moved_weights(planned("X=4", strategy, DType::f32));
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
  const std::vector<std::string> all = lines(planned("X=2", "fsdp=X", DType::bf16).stages[0].step->program());
  const auto cast = std::find(all.begin(), all.end(), "W_up1.bf16[D_X, F] = cast(W_up1[D_X, F], bf16)");
  const auto gather = std::find(all.begin(), all.end(), "W_up1.bf16[D, F] = AllGather_X(W_up1.bf16[D_X, F])");
  ASSERT_NE(cast, all.end());
  ASSERT_NE(gather, all.end());
  EXPECT_LT(cast - all.begin(), gather - all.begin());
  const auto count = [&](const std::string& begin) {
    return std::count_if(all.begin(), all.end(), [&](const std::string& line) { return line.starts_with(begin); });
  };
  EXPECT_EQ(count("W_up1.bf16[D_X, F] = cast"), 1);
  EXPECT_EQ(count("dW_up1[D_X, F] = cast(dW_up1.bf16[D_X, F], f32)"), 1);
  EXPECT_EQ(count("dW_up1.bf16[D_X, F] = ReduceScatter_X(dW_up1.bf16[D, F]{U_X}"), 1);
}

/// Many micro-batches read one cast.
TEST(Bf16Plan, ACastServesAllMicroBatches) {
  for (const char* strategy : {"fsdp=X", "zero1=X"}) {
    const std::vector<std::string> all = lines(
        planned("X=2", strategy, DType::bf16, {.micro_batches = 4, .remat = Remat::block}).stages[0].step->program());
    const auto count = [&](const std::string& begin) {
      return std::count_if(all.begin(), all.end(), [&](const std::string& line) { return line.starts_with(begin); });
    };
    EXPECT_EQ(count("W_up1.bf16[D_X, F] = cast"), 1) << strategy;
    EXPECT_EQ(count("W_up1.bf16[D, F] = AllGather_X"), std::string(strategy) == "zero1=X" ? 1 : 8) << strategy;
  }
}

/// What a step holds beside weights, moments and gradients.
double activations_of(DType dtype) {
  const TrainingPlan plan = planned("X=1", "dp=X", dtype);
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
  for (const AxisRole& role : AxisRole::all()) {
    for (const char* ranks : {"1", "2", "3", "4"}) {
      for (const Index micro_batches : {1, 2}) {
        SCOPED_TRACE(role.name() + " on " + ranks);
        planned(std::string("X=") + ranks, role.name() + "=X", DType::bf16, {.micro_batches = micro_batches});
      }
    }
  }
}

}  // namespace
}  // namespace shardline
