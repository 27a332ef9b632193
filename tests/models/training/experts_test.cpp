// Mixtures of experts where routing is extreme: one expert gets all tokens, others none; each token passes one expert
// or all; ranks have no experts or no sequences. Every layout must give what one rank gives, and the counts of what was
// routed and dropped must be those that follow from the sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/parity/parity.h"
#include "tests/models/training/job.h"

namespace shardline {
namespace {

constexpr Index kSequences = 3;
constexpr Index kTokens = 7;
constexpr Index kSteps = 2;
constexpr double kTolerance = 1e-10;

struct Case {
  Experts experts;
  double capacity = 0;
  bool equal_scores = false;  ///< routers of zeros: of equals the first are chosen
};

std::vector<Case> cases() {
  return {
      {.experts = {.count = 4, .chosen = 1}, .equal_scores = true},
      {.experts = {.count = 4, .chosen = 1, .balance = 0.1}, .capacity = 1, .equal_scores = true},
      {.experts = {.count = 5, .chosen = 5}},
      {.experts = {.count = 3, .chosen = 1, .balance = 0.1}, .capacity = 0.5},
      {.experts = {.count = 1, .chosen = 1}},
  };
}

RunOnMesh run_of(const Case& what, const Layout& layout) {
  TransformerConfig config = parity_config(ParityTask::usual);
  config.experts = what.experts;
  TrainingOptions options = parity_options(DType::f64, kSteps);
  options.batch = {.sequences = kSequences, .tokens = kTokens, .capacity = what.capacity};
  return laid_out(layout, config, options);
}

void clear_routers(State& state) {
  for (const char* router : {"W_router1", "W_router2"}) {
    if (state.contains(router)) state.set(router, Tensor::zeros(DType::f64, state.block(router).shape()));
  }
}

struct Trained {
  Outcome outcome;
  std::map<std::string, Tensor> arrays;  ///< parameters and moments, whole
  Routing routing;
};

/// Collective over `comm`.
Trained train(const mpi::Communicator& comm, const Case& what, const Layout& layout) {
  Job job(comm, run_of(what, layout));
  if (what.equal_scores) clear_routers(job.trainer().state());
  Trained made;
  made.outcome = job.train(parity_data(), kSteps, 1);
  for (const std::string& name : job.state().names()) made.arrays[name] = job.state().gather(name);
  made.routing = job.trainer().routing_of_steps();
  return made;
}

void expect_same(const Trained& made, const Trained& reference) {
  expect_close(made.outcome, reference.outcome, {kTolerance, kTolerance});
  for (std::size_t i = 0; i < reference.outcome.steps.size(); ++i) {
    EXPECT_NEAR(made.outcome.steps[i].balance, reference.outcome.steps[i].balance, kTolerance);
  }
  for (const auto& [name, array] : made.arrays) {
    const View<const double> got = array.view<double>();
    const View<const double> want = reference.arrays.at(name).view<double>();
    double scale = 0;
    double farthest = 0;
    for (Index i = 0; i < want.size(); ++i) {
      scale = std::max(scale, std::abs(want[i]));
      farthest = std::max(farthest, std::abs(got[i] - want[i]));
    }
    EXPECT_LE(farthest, kTolerance * scale) << name;
  }
  EXPECT_EQ(made.routing.routed, reference.routing.routed);
  EXPECT_EQ(made.routing.dropped, reference.routing.dropped);
}

class ExpertTraining : public OnRanks {};

/// Eight ranks have experts, sequences and tokens for some of them only.
TEST_F(ExpertTraining, ExtremeRoutingIsTheSameOnEveryMesh) {
  for (const Case& what : cases()) {
    const Trained reference = train(alone_, what, {});
    for (const Layout& layout :
         {Layout{"X=2", "ep=X"}, Layout{"X=3", "tp_ep=X", {.micro_batches = 3}}, Layout{"X=2,Y=2", "ep_fsdp=X,ep=Y"},
          Layout{"X=5", "ep_fsdp=X"}, Layout{"X=3,Y=2", "cp=X,ep=Y", {.micro_batches = 3, .remat = Remat::block}},
          Layout{"Z=2", "pp=Z", {.micro_batches = 3}}, Layout{"Z=2,X=3", "pp=Z,ep=X"}, Layout{"X=7", "ep=X"},
          Layout{"X=8", "tp_ep=X"}, Layout{"X=4,Y=2", "ep=X,tp=Y"}}) {
      const Index ranks = AbstractMesh::parse(layout.mesh).ranks();
      if (ranks > world_.size()) continue;
      const bool joins = world_.rank() < ranks;
      const mpi::Communicator part = world_.split(joins ? 0 : 1, world_.rank());
      if (!joins) continue;
      SCOPED_TRACE(layout.strategy + " on " + layout.mesh);
      expect_same(train(part, what, layout), reference);
    }
  }
}

/// Routers of zeros send all tokens to the first expert in the first step. With capacity 1 it has room for a quarter of
/// each sequence, rounded up.
TEST_F(ExpertTraining, CountsFollowFromTheSizes) {
  for (const Case& what : cases()) {
    if (!what.equal_scores) continue;
    Job job(alone_, run_of(what, {}));
    clear_routers(job.trainer().state());
    job.trainer().step(parity_data(), 0);
    const Routing routing = job.trainer().routing_of_steps();
    const double all = kSequences * kTokens;
    const double room = what.capacity > 0 ? std::ceil(kTokens / 4.0) : kTokens;
    ASSERT_EQ(routing.routed.size(), 2U);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      EXPECT_EQ(routing.routed[layer], (std::vector<double>{all, 0, 0, 0}));
      EXPECT_EQ(routing.dropped[layer], (std::vector<double>{all - kSequences * room, 0, 0, 0}));
    }
    EXPECT_DOUBLE_EQ(most_over_mean(routing), 4);
    EXPECT_DOUBLE_EQ(dropped_share(routing), 1 - room / kTokens);
  }
}

/// The balancing loss of a layer is E sum_e f_e P_e: with all tokens at one of four equally probable experts it is
/// 4 * 1 * 1/4, and the loss is the weight times the mean of the layers.
TEST_F(ExpertTraining, TheBalancingLossFollowsFromTheCounts) {
  Case what{.experts = {.count = 4, .chosen = 1, .balance = 0.1}, .equal_scores = true};
  Job job(alone_, run_of(what, {}));
  clear_routers(job.trainer().state());
  EXPECT_NEAR(job.trainer().step(parity_data(), 0).balance, 0.1, 1e-12);
}

}  // namespace
}  // namespace shardline
