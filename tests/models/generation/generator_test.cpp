// Prefill and decode against a Transformer of plain loops that computes the whole sequence at once. Sequences differ in
// length, and the model in heads, experts and ties.

#include "models/generation/generator.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "tests/models/generation/generated.h"

namespace shardline {
namespace {

/// Types and how far from the truth they may lead.
struct Types {
  DType dtype = DType::f64;
  std::optional<DType> caches = {};
  double tolerance = 1e-10;
};

/// Half a unit in the last of the 8 bits of bf16.
constexpr double kBf16Rounding = 1.0 / 512;

class Generation : public testing::Test {
 protected:
  /// Collective over all ranks: every case, with prompts of these lengths.
  void expect_equal(const TransformerConfig& config, const std::vector<Case>& cases, const std::vector<Index>& lengths,
                    Index chunk, const Types& types = {}) {
    const Prompts prompts = prompts_of(lengths, config.vocab);
    const Continued expected = continued_by_loops(config, prompts);
    const Index longest = *std::max_element(lengths.begin(), lengths.end());
    for_each_case(world_, cases, [&](const CaseRun& run) {
      GenerationForm form = run.form;
      form.sequences = static_cast<Index>(prompts.size());
      form.context = longest + kNewTokens + 3;
      form.longest = longest;
      form.chunk = chunk;
      form.dtype = types.dtype;
      form.cache_dtype = types.caches;
      if (scheduling_) form.how = scheduled(run.mesh, *scheduling_);
      Generator generator(run.engine, GenerationPlan(config, form, run.mesh), fill_weights);
      for (const Compiled* program : generator.plan().programs()) {
        for (const Action& action : program->schedule().actions) ++actions_[action.kind];
      }
      EXPECT_LE(difference(generator, prompts, expected), types.tolerance);
      EXPECT_LE(difference(generator, prompts, expected), types.tolerance)
          << "the second time, over what the first left";
    });
  }

  mpi::Communicator world_ = mpi::Communicator::world();
  std::optional<ScheduleOptions> scheduling_;  ///< of all programs; none: every step at its place
  std::map<ActionKind, int> actions_;          ///< of all programs that ran
};

TEST_F(Generation, DecodesWhatTheWholeSequenceGives) { expect_equal(small_config(), kCases, {7, 3, 1, 5}, 0); }

TEST_F(Generation, InChunksThatDoNotDivideThePrompts) { expect_equal(small_config(), kCases, {9, 8, 1}, 4); }

TEST_F(Generation, OfOneSequenceOnManyRanks) { expect_equal(small_config(), kCases, {5}, 0); }

TEST_F(Generation, OfPromptsOfOneToken) { expect_equal(small_config(), kCases, {1, 1}, 0); }

TEST_F(Generation, WithTiedWeightsAndBiases) {
  TransformerConfig config = small_config();
  config.tied = true;
  config.qkv_biases = true;
  expect_equal(config, kCases, {4, 6}, 0);
}

TEST_F(Generation, WithExperts) {
  std::vector<Case> cases = kCases;
  for (const Case& each : std::vector<Case>{{"X=2", "ep_rep=X"},
                                            {"X=3", "ep=X"},
                                            {"Y=2,Z=2", "ep_rep=Y,rep_b=Z"},
                                            {"Y=2,Z=3", "ep_rep=Y,rep_s=Z"},
                                            {"X=4", "tp_ep=X"}}) {
    cases.push_back(each);
  }
  expect_equal(with_experts(), cases, {4, 6, 2}, 3);
}

TEST_F(Generation, InSmallerTypes) {
  expect_equal(small_config(), kCases, {7, 3}, 0, {.dtype = DType::f32, .tolerance = 1e-4});
  expect_equal(small_config(), kCases, {7, 3}, 0, {.dtype = DType::bf16, .tolerance = 0.1});
}

/// Caches of another type round what they hold, queries and the results of attention: 12 times the rounding of bf16 in
/// these logits.
TEST_F(Generation, WithCachesOfASmallerType) {
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f64, .caches = DType::f64});
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f64, .caches = DType::f32, .tolerance = 1e-5});
  const double bf16 = 12 * kBf16Rounding;
  expect_equal(small_config(), kCases, {7, 3, 1}, 4, {.dtype = DType::f32, .caches = DType::bf16, .tolerance = bf16});
  expect_equal(with_experts(), {{"Y=2,Z=3", "ep_rep=Y,rep_s=Z"}}, {4, 6}, 3,
               {.dtype = DType::f64, .caches = DType::f32, .tolerance = 1e-5});
}

/// As a training step is scheduled: collectives in flight, bundles, collective matmuls, sweeps of small strips, and
/// products in many panels.
TEST_F(Generation, WithScheduledPrograms) {
  scheduling_ = {.fuse = ScheduleOptions::Fuse::always, .strip_bytes = 8, .panel = Flops(40)};
  expect_equal(small_config(), kCases, {7, 3, 1, 5}, 4);
  expect_equal(with_experts(), {{"X=2", "ep_rep=X"}, {"X=3", "ep=X"}, {"X=4", "tp_ep=X"}}, {4, 6, 2}, 3);
  for (const ActionKind kind : {ActionKind::run, ActionKind::sweep}) EXPECT_GT(actions_[kind], 0);
  for (const ActionKind kind : {ActionKind::start, ActionKind::wait, ActionKind::fuse}) {
    EXPECT_TRUE(actions_[kind] > 0 || world_.size() == 1 || world_.rank() > 1);
  }
}

/// Prefill with a state of its own, in its own layouts; then the caches are resharded.
const std::vector<Case> kOwn = {
    {"X=1", "dp=X", "", true},
    {"X=2", "tp_rep=X", "dp=X", true},
    {"X=2", "rep_s=X", "tp_seq=X", true},
    {"X=2", "dp=X", "fsdp=X", true},
    {"X=3", "rep_s=X", "cp_s=X", true},
    {"X=3", "rep_s=X", "tp_rep=X", true},
    {"X=3", "tp_rep=X", "rep_s=X", true},
    {"X=4", "rep_b=X", "cp_s=X", true},
    {"X=4", "tp_rep=X", "", true},
    {"Y=2,Z=2", "tp_rep=Y,rep_s=Z", "rep_s=Y,tp_rep=Z", true},
    {"Y=2,Z=2", "rep_s=Y,rep_s=Z", "tp_seq=Y,cp_s=Z", true},
    {"Y=2,Z=2", "tp_rep=Y,rep_b=Z", "rep_s=Y,cp_s=Z", true},
};

TEST_F(Generation, WithAStateOfPrefillsOwn) {
  expect_equal(small_config(), kOwn, {7, 3, 1, 5}, 3);
  expect_equal(small_config(), kOwn, {4}, 0);
  expect_equal(with_experts(), kOwn, {6, 2}, 4);
  expect_equal(small_config(), kOwn, {7, 3}, 0, {.dtype = DType::bf16, .tolerance = 0.1});
}

}  // namespace
}  // namespace shardline
