// What the states of generation hold beside the right logits: bits that do not change, the order of places, a full
// context, and trials that borrow parameters.

#include "models/generation/decode_trial.h"

#include <gtest/gtest.h>

#include "runtime/layout/blocks.h"
#include "tests/models/generation/generated.h"

namespace shardline {
namespace {

class GenerationStates : public testing::Test {
 protected:
  /// Collective over all ranks: each case whose prefill and decode have the same roles. `body` takes its run and its
  /// form: two texts, and caches of `context` places.
  template <class Body>
  void for_each_strategy(Index context, DType dtype, const Body& body) {
    for_each_case(world_, cases_of_one_strategy(), [&](const CaseRun& run) {
      GenerationForm form = run.form;
      form.sequences = 2;
      form.context = context;
      form.longest = 5;
      form.dtype = dtype;
      body(run, form);
    });
  }

  const mpi::Communicator world_ = mpi::Communicator::world();
  const TransformerConfig config_ = small_config();
  const Prompts prompts_ = prompts_of({5, 2}, config_.vocab);
};

/// The logits of all steps, in one row.
std::vector<double> all_logits(Generator& generator, const Prompts& prompts) {
  std::vector<double> all;
  const Tensor* logits = &generator.prefill(prompts);
  for (std::int32_t step = 0; step < static_cast<std::int32_t>(kNewTokens); ++step) {
    for (std::size_t b = 0; b < prompts.size(); ++b) {
      const std::vector<double> row = row_of(*logits, b);
      all.insert(all.end(), row.begin(), row.end());
    }
    logits = &generator.decode(std::vector<std::int32_t>(prompts.size(), step));
  }
  return all;
}

TEST_F(GenerationStates, CachesOfTheTypeOfTheModelHaveTheSameBits) {
  for_each_strategy(9, DType::f64, [&](const CaseRun& run, GenerationForm form) {
    const auto logits = [&](std::optional<DType> caches) {
      form.cache_dtype = caches;
      Generator generator(run.engine, GenerationPlan(config_, form, run.mesh), fill_weights);
      return all_logits(generator, prompts_);
    };
    const std::vector<double> usual = logits({});
    EXPECT_EQ(logits(DType::f64), usual);
    EXPECT_NE(logits(DType::f32), usual) << "smaller caches round";
  });
}

/// On one node sweeps, bundles and collectives in flight change no bit. The oracle has every step at its place.
TEST_F(GenerationStates, AScheduleThatFusesNothingChangesNoBit) {
  for_each_strategy(9, DType::bf16, [&](const CaseRun& run, GenerationForm form) {
    Generator apart(run.engine, GenerationPlan(config_, form, run.mesh), fill_weights);
    const std::vector<double> expected = all_logits(apart, prompts_);
    form.how = scheduled(run.mesh, {.fuse = ScheduleOptions::Fuse::never, .strip_bytes = 8});
    Generator generator(run.engine, GenerationPlan(config_, form, run.mesh), fill_weights);
    EXPECT_EQ(all_logits(generator, prompts_), expected);
  });
}

/// Without the order of decode in prefill, a place of decode does not hold the position that it says. Another order is
/// right if both have it.
TEST_F(GenerationStates, BothStatesHaveOneOrderOfPlaces) {
  const Prompts prompts = prompts_of({9, 4}, config_.vocab);
  const Continued expected = continued_by_loops(config_, prompts);
  const AbstractMesh mesh({{"X", 3}});
  on_first(world_, 3, [&](const mpi::Communicator& part) {
    const GenerationForm form{.sequences = 2,
                              .context = 16,
                              .longest = 9,
                              .dtype = DType::f64,
                              .decode = parse_strategy("rep_s=X", mesh, RoleUse::generation),
                              .prefill = parse_strategy("dp=X", mesh, RoleUse::generation),
                              .own_prefill = true};
    const Mesh ranks(mesh, part);
    collectives::Engine engine(ranks);
    Generator generator(engine, GenerationPlan(config_, form, mesh), fill_weights);
    const auto set_order = [](Executor& executor, const GenerationPhase& phase, const std::vector<Index>& sizes) {
      Tensor where(DType::i32, {16});
      const std::vector<std::int32_t> order = striped_places(16, sizes);
      std::copy(order.begin(), order.end(), where.view<std::int32_t>().begin());
      executor.set(phase.model.cached.where, where);
    };
    set_order(generator.first(), generator.plan().first(), {});
    EXPECT_GT(difference(generator, prompts, expected), 1e-3) << "prefill in order, decode striped";
    set_order(generator.decoder(), generator.plan().decode(), {});
    EXPECT_LE(difference(generator, prompts, expected), 1e-10) << "both in order";
  });
}

/// Decode of other numbers of sequences uses the parameters of the generator, and leaves its texts as they are.
TEST_F(GenerationStates, TrialsOfOtherBatchesChangeNothing) {
  const TransformerConfig config = with_experts();
  const Continued expected = continued_by_loops(config, prompts_);
  for_each_strategy(12, DType::f64, [&](const CaseRun& run, GenerationForm form) {
    Generator generator(run.engine, GenerationPlan(config, form, run.mesh), fill_weights);
    for (const Index sequences : {1, 2, 7}) {
      form.sequences = sequences;
      const GenerationPhase phase = decode_phase(config, form, run.mesh, form.decode);
      generator.prefill(prompts_);
      const std::unique_ptr<DecodeTrial> trial = DecodeTrial::make(generator, phase, 0.5);
      ASSERT_NE(trial, nullptr);
      trial->step();
      trial->step();
      EXPECT_LE(step_difference(generator.decode(tokens_of_step(prompts_, expected, 0)), expected, 1), 1e-10);
      const Index rank = run.engine.mesh().rank();
      EXPECT_GE(trial_memory(generator.plan(), phase, rank).own, cache_bytes(phase, rank));
    }
  });
}

/// The last place of a cache is used, and there is no place after it.
TEST_F(GenerationStates, FillTheContext) {
  const Continued expected = continued_by_loops(config_, prompts_);
  for_each_strategy(5 + kNewTokens - 1, DType::f64, [&](const CaseRun& run, const GenerationForm& form) {
    Generator generator(run.engine, GenerationPlan(config_, form, run.mesh), fill_weights);
    EXPECT_LE(difference(generator, prompts_, expected), 1e-10);
    EXPECT_EQ(generator.lengths(), (std::vector<Index>{5 + kNewTokens - 1, 2 + kNewTokens - 1}));
    EXPECT_THROW(generator.decode({1, -1}), Error) << "the first text is full";
    generator.decode({-1, 1});
    EXPECT_EQ(generator.lengths()[1], 2 + kNewTokens);
  });
}

/// Positions go round the ranks, so the fullest rank has at most one place more than the emptiest, at every length.
TEST(StripedPlaces, AreBalancedAtEveryLength) {
  for (const Index places : {1, 5, 12, 37}) {
    for (const std::vector<Index>& sizes : std::vector<std::vector<Index>>{{}, {1}, {3}, {8}, {2, 2}, {3, 2, 2}}) {
      const std::vector<std::int32_t> where = striped_places(places, sizes);
      std::vector<bool> met(static_cast<std::size_t>(places), false);
      for (const std::int32_t position : where) met.at(static_cast<std::size_t>(position)) = true;
      EXPECT_EQ(std::count(met.begin(), met.end(), true), places);
      std::vector<std::pair<Axis, Index>> axes;
      for (std::size_t a = 0; a < sizes.size(); ++a) axes.emplace_back("A" + std::to_string(a), sizes[a]);
      const AbstractMesh mesh(axes);
      for (Index length = 1; length <= places; ++length) {
        Index least = places, most = 0;
        for (const Range& block : nested_blocks(places, mesh.axes(), mesh)) {
          const auto begin = where.begin() + block.begin, end = where.begin() + block.end;
          const Index held = std::count_if(begin, end, [&](std::int32_t position) { return position < length; });
          least = std::min(least, held);
          most = std::max(most, held);
        }
        EXPECT_LE(most - least, 1) << places << " places, length " << length;
      }
    }
  }
}

}  // namespace
}  // namespace shardline
