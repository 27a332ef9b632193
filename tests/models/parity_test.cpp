// The oracle of every layout. In one job of five ranks, the first ranks form each mesh in turn. They train the
// same small model in f64 as a single rank. Losses, gradient norms, every parameter and both moments of every
// gradient must agree. This also finds a gradient with a wrong factor, which AdamW itself would hide.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "collectives/shared/arena.h"
#include "models/strategy/auto_strategy.h"
#include "tests/models/small_training.h"

namespace shardline {
namespace {

constexpr Index kSteps = 3;
constexpr double kTolerance = 1e-10;

struct Layout {
  int ranks;
  std::string mesh;
  std::string strategy;
};

struct Outcome {
  std::vector<StepResult> steps;
  double validation = 0;
  std::map<std::string, Tensor> state;
};

/// The differences between runs of a layout.
struct Ways {
  bool tied = false;
  Policy policy = {};
  ScheduleOptions schedule = {};
  bool by_messages = false;  ///< no array in shared memory, as between nodes
};

Outcome train(const mpi::Communicator& comm, const Layout& layout, const Ways& ways = {}) {
  const Mesh mesh(AbstractMesh::parse(layout.mesh), comm);
  collectives::Engine engine(mesh);
  TrainingOptions options = small_options(DType::f64, kSteps);
  options.policy = ways.policy;
  options.schedule = ways.schedule;
  options.prices = any_hardware(mesh.axes());
  options.by_price = layout.strategy == "auto";  // operations by price, even if the table costs the same
  const TransformerConfig config = small_config(ways.tied);
  Strategy chosen;
  if (options.by_price) {
    const Program program = make_training_step(config, options.batch, options.adamw, options.types()).model.program;
    chosen = price_strategies(program, mesh.axes(), ways.policy, options.prices).at(0).strategy;
  } else {
    chosen = parse_strategy(layout.strategy, mesh.axes());
  }
  if (ways.by_messages) collectives::give_arena(engine, 64);  // too small for any array
  Trainer trainer(engine, plan_training({config, options, chosen}, mesh.axes()), options.prices);
  const ByteData data = small_data();
  Outcome run;
  for (Index step = 0; step < kSteps; ++step) run.steps.push_back(trainer.step(data, step));
  Index windows = 0;
  run.validation = trainer.evaluate(data, 2, windows);
  for (const std::string& name : trainer.state().names()) run.state[name] = trainer.state().gather(name);
  return run;
}

/// The largest difference of an element from the reference, as a share of the array's largest element.
double distance(const Tensor& array, const Tensor& reference) {
  double largest = 0;
  double farthest = 0;
  for (Index i = 0; i < reference.size(); ++i) {
    const double want = reference.view<double>()[i];
    largest = std::max(largest, std::abs(want));
    farthest = std::max(farthest, std::abs(array.view<double>()[i] - want));
  }
  return farthest / largest;
}

void expect_same(const Outcome& run, const Outcome& reference) {
  for (std::size_t i = 0; i < reference.steps.size(); ++i) {
    const StepResult& want = reference.steps[i];
    EXPECT_NEAR(run.steps[i].loss, want.loss, kTolerance * want.loss) << "step " << i + 1;
    EXPECT_NEAR(run.steps[i].grad_norm, want.grad_norm, kTolerance * want.grad_norm) << "step " << i + 1;
  }
  EXPECT_NEAR(run.validation, reference.validation, kTolerance * reference.validation);
  ASSERT_EQ(run.state.size(), reference.state.size());
  for (const auto& [name, want] : reference.state) {
    const auto found = run.state.find(name);
    ASSERT_NE(found, run.state.end()) << name;
    ASSERT_EQ(found->second.shape(), want.shape()) << name;
    EXPECT_LE(distance(found->second, want), kTolerance) << name;
  }
}

class Parity : public testing::Test {
 protected:
  void expect_parity(const std::vector<Layout>& layouts, const Ways& ways = {}) {
    const Outcome reference = train(alone_, {1, "X=1", ""}, {.tied = ways.tied});
    for (const Layout& layout : layouts) {
      on_first(world_, layout.ranks, [&](const mpi::Communicator& part) {
        SCOPED_TRACE(layout.mesh + " " + layout.strategy);
        expect_same(train(part, layout, ways), reference);
      });
    }
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  mpi::Communicator alone_ = world_.split(world_.rank(), 0);
};

/// The reference must learn something. A model that does nothing would agree with itself on every mesh.
TEST_F(Parity, TheReferenceMoves) {
  const Outcome run = train(alone_, {1, "X=1", ""});
  EXPECT_LT(run.steps.back().loss, run.steps.front().loss);
  for (const auto& [name, array] : run.state) {
    double largest = 0;
    for (const double value : array.view<double>()) largest = std::max(largest, std::abs(value));
    EXPECT_GT(largest, 0) << name;
  }
}

TEST_F(Parity, EveryRoleAlone) {
  std::vector<Layout> layouts;
  for (const int ranks : {1, 2, 3, 4, 5}) {
    for (const RoleRow& row : strategy_table()) {
      layouts.push_back({ranks, "X=" + std::to_string(ranks), row.name + "=X"});
    }
  }
  expect_parity(layouts);
}

/// Also a role with itself: then both axes shard the same dims.
TEST_F(Parity, EveryPairOfRoles) {
  std::vector<Layout> layouts;
  for (const RoleRow& first : strategy_table()) {
    for (const RoleRow& second : strategy_table()) {
      layouts.push_back({4, "X=2,Y=2", first.name + "=X," + second.name + "=Y"});
    }
  }
  expect_parity(layouts);
}

TEST_F(Parity, OperationsByPrice) {
  expect_parity({{1, "X=1", "auto"}, {2, "X=2", "auto"}, {3, "X=3", "auto"}, {4, "X=2,Y=2", "auto"}});
}

const std::vector<Layout>& some_layouts() {
  static const std::vector<Layout> kSome = {{2, "X=2", "fsdp=X"},   {3, "X=3", "zero1=X"},
                                            {3, "Y=3", "tp=Y"},     {4, "X=2,Y=2", "fsdp=X,tp=Y"},
                                            {4, "Y=4", "tp_seq=Y"}, {2, "Y=2", "tp_g=Y"}};
  return kSome;
}

TEST_F(Parity, TiedEmbeddingAndOtherPolicies) {
  for (const Policy& policy : {Policy{Reuse::regather, Reuse::regather}, Policy{Reuse::keep, Reuse::keep}}) {
    expect_parity(some_layouts(), {.tied = true, .policy = policy});
  }
}

TEST_F(Parity, WithoutSharedMemory) {
  std::vector<Layout> layouts = some_layouts();
  for (const RoleRow& row : strategy_table()) layouts.push_back({5, "X=5", row.name + "=X"});
  expect_parity(layouts, {.by_messages = true});
}

/// Everything in order; everything in flight that can be; and collectives fused with products that are much too
/// small for it.
TEST_F(Parity, OtherSchedules) {
  using Fuse = ScheduleOptions::Fuse;
  for (const ScheduleOptions& schedule :
       {ScheduleOptions{.overlap = false, .bundle_bytes = 0, .fuse = Fuse::never},
        ScheduleOptions{.distance = 3, .bundle_bytes = 1 << 30, .fuse = Fuse::always, .panel = Flops(2000)},
        ScheduleOptions{.distance = 0, .bundle_bytes = 500, .fuse = Fuse::always, .panel = Flops(1)}}) {
    expect_parity(some_layouts(), {.schedule = schedule});
  }
}

}  // namespace
}  // namespace shardline
