#include "models/planning/closed_form.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/architecture/accounting.h"
#include "models/architecture/known_models.h"

namespace shardline {
namespace {

using roofline::CountedPasses;

/// LLaMA-3 70B with 4M tokens on a v5p pod (book section 6).
ClosedFormQuery llama_on_a_pod() {
  ClosedFormQuery query;
  query.config = sizes_of_model("llama3-70b");
  query.tokens = 4194304;
  query.chips = 8960;
  query.rates = {FlopsPerSecond(4.59e14), BytesPerSecond(1.8e11)};
  query.capacity = Bytes(96e9);
  query.between_pods = BytesPerSecond(2.5e10);
  query.chips_per_host = 4;
  query.stages = 8;
  query.micro_batches = 32;
  return query;
}

StrategyAnswer named(const std::vector<StrategyAnswer>& answers, const std::string& name) {
  return *std::find_if(answers.begin(), answers.end(), [&](const StrategyAnswer& each) { return each.name == name; });
}

TEST(ClosedForm, ChoosesTheMeshesOfTheBook) {
  const ClosedFormQuery query = llama_on_a_pod();
  EXPECT_NEAR(query.tokens_per_chip(), 468.1, 0.05) << "over all 8960";
  const MixedAnswer forward = mixed_answer(query, CountedPasses::forward);
  EXPECT_EQ(forward.mesh.x, 2048);
  EXPECT_EQ(forward.mesh.y, 4);
  EXPECT_NEAR(forward.least_tokens_per_chip, 453.6, 0.05);
  EXPECT_TRUE(forward.time.compute_bound());
  EXPECT_EQ(mixed_answer(query, CountedPasses::both_keeping).mesh.x, 1024);
  EXPECT_EQ(mixed_answer(query, CountedPasses::both_regathering).mesh.x, 1024);
}

/// The same times in another way: bytes and FLOPs of 80 layers, written out.
TEST(ClosedForm, TimesAreOfAllLayers) {
  const MixedAnswer forward = mixed_answer(llama_on_a_pod(), CountedPasses::forward);
  const double bdf = 4194304.0 * 8192 * 28672;
  EXPECT_DOUBLE_EQ(forward.time.math.value, 80 * 4 * bdf / (8192 * 4.59e14));
  EXPECT_DOUBLE_EQ(forward.time.fsdp.value, 80 * (4.0 * 8192 * 28672 / 4) / (2 * 1.8e11));
  EXPECT_DOUBLE_EQ(forward.time.tensor.value, 80 * (4.0 * 4194304 * 8192 / 2048) / 1.8e11);
}

TEST(ClosedForm, SaysWhichBoundBindsAndWhatFits) {
  const std::vector<StrategyAnswer> answers = strategy_answers(llama_on_a_pod());
  const double weights = static_cast<double>(parameter_count(sizes_of_model("llama3-70b")));
  const StrategyAnswer dp = named(answers, "dp");
  EXPECT_TRUE(dp.keeps.empty()) << "10 bytes a weight on every chip";
  EXPECT_DOUBLE_EQ(dp.state.value, 10 * weights);
  EXPECT_EQ(dp.bound, "backward: needs 850.0 tokens a chip, has 468.1 (512.0 in the mesh): communication binds");
  const StrategyAnswer fsdp = named(answers, "fsdp");
  EXPECT_EQ(fsdp.keeps, "none");
  EXPECT_DOUBLE_EQ(fsdp.state.value, 10 * weights / 8960);
  EXPECT_GT(fsdp.comms, fsdp.math);
  const StrategyAnswer tensor = named(answers, "tp");
  EXPECT_NE(tensor.bound.find("communication binds"), std::string::npos);
  const StrategyAnswer mixed = named(answers, "fsdp+tp");
  EXPECT_EQ(mixed.mesh, "X=1024,Y=8");
  EXPECT_LT(mixed.comms, mixed.math);
  EXPECT_NE(mixed.bound.find("compute binds"), std::string::npos);
  const StrategyAnswer pipeline = named(answers, "pipeline");
  EXPECT_DOUBLE_EQ(pipeline.idle.value, pipeline.math.value * 7 / 32);
  EXPECT_EQ(answers.size(), 5U) << "one pod";
}

/// Book exercise 5.1: data parallelism with Adam on 96 GB holds at most 9.6e9 weights.
TEST(ClosedForm, DataParallelismHoldsSmallModelsOnly) {
  ClosedFormQuery query = llama_on_a_pod();
  query.tokens = 8960;
  query.config = sizes_of_model("llama3-8b");  // 8.0e9
  EXPECT_FALSE(named(strategy_answers(query), "dp").keeps.empty());
  query.config = sizes_of_model("llama2-13b");
  EXPECT_TRUE(named(strategy_answers(query), "dp").keeps.empty());
}

/// The limit agrees with the times for all numbers of chips and all batches.
TEST(ClosedForm, VerdictsFollowFromTheTimes) {
  ClosedFormQuery query = llama_on_a_pod();
  for (const Index chips : {64, 100, 1023, 8191, 8960}) {
    for (const double tokens : {1e4, 1e5, 5e5, 1e6, 4e6, 6e6, 1e7}) {
      query.chips = chips;
      query.tokens = tokens;
      for (const StrategyAnswer& each : strategy_answers(query)) {
        if (each.name == "pipeline") continue;
        const double beside = each.name == "dp" ? 2.0 / 3 : 1;
        EXPECT_EQ(each.bound.find("compute binds") != std::string::npos, each.comms < each.math * beside)
            << each.name << " on " << chips << " with " << tokens << ": " << each.bound;
      }
    }
  }
}

/// Section 5.1.4 with X alone, which moves 4 DF bytes of each layer for gradients, and 4 for each gather of weights.
/// The chips are so many that nothing hides behind the products. dp moves 8 DF once; with micro-batches that scatter, 4
/// DF each and 4 DF once; FSDP 12 DF each.
TEST(ClosedForm, StagesMoveGradientsOnceOrForEveryMicroBatch) {
  ClosedFormQuery query = llama_on_a_pod();
  query.tokens = 8960;
  StagedForm form{.stages = 8, .micro_batches = 4};
  form.mesh = {.x = 1120, .y = 1, .x_torus_axes = 3, .y_torus_axes = 0};
  const auto& config = query.config;
  const double matrix = static_cast<double>(config.d_model) * static_cast<double>(config.d_ff);
  const double gather = 4 * matrix / (query.rates.link.value * 3);  // two matrices in bf16
  const double layers = static_cast<double>(config.layers) / 8;
  const double tasks = 4 + 8 - 1;
  const double math = 6 * 2 * matrix * 8960 / 4 / 1120 / query.rates.compute.value;
  ASSERT_LT(math, gather);
  EXPECT_NEAR(staged_time(query, form).value, layers * (tasks * math + 2 * gather), 1e-9);
  form.scatters = true;
  EXPECT_NEAR(staged_time(query, form).value, layers * (tasks * gather + gather), 1e-9);
  form.gathers = true;
  EXPECT_NEAR(staged_time(query, form).value, layers * tasks * 3 * gather, 1e-9);
}

TEST(ClosedForm, RematerialisationMakesRoom) {
  ClosedFormQuery query = llama_on_a_pod();
  query.tokens = 64 * 4194304.0;
  // 64 times as many tokens: all 20 arrays would take 786 GB per chip, two 79 GB, one 39 GB.
  EXPECT_EQ(named(strategy_answers(query), "fsdp").keeps, "stream");
}

TEST(ClosedForm, PodsExchangeGradients) {
  ClosedFormQuery query = llama_on_a_pod();
  query.pods = 10;
  query.tokens = 40e6;
  const StrategyAnswer pods = named(strategy_answers(query), "pods: dp");
  const double weights = static_cast<double>(parameter_count(query.config));
  EXPECT_DOUBLE_EQ(pods.comms.value, 4 * weights / (2.5e10 * 2240));
  EXPECT_EQ(pods.bound, "backward: needs 73440 tokens a pod, has 4000000: compute binds");
}

/// Mixtral 8x7B: 8 experts of 14336 in each of 32 layers, of which a token passes 2.
TEST(ClosedForm, ExpertsHoldAllAndPassAFew) {
  ClosedFormQuery query = llama_on_a_pod();
  query.config = sizes_of_model("mixtral-8x7b");
  query.memory = BytesPerSecond(2.8e12);
  const std::vector<StrategyAnswer> answers = strategy_answers(query);
  ASSERT_EQ(answers.size(), 6U) << "one more than without experts";
  const StrategyAnswer fsdp = named(answers, "fsdp");
  EXPECT_DOUBLE_EQ(fsdp.math.value, 32 * 12 * 4194304.0 * 4096 * 2 * 14336 / (8192 * 4.59e14));
  EXPECT_DOUBLE_EQ(fsdp.comms.value, 32 * 12 * 4096.0 * 8 * 14336 / (3 * 1.8e11));
  EXPECT_NE(fsdp.bound.find("needs 3400.0 tokens a chip"), std::string::npos) << "850 E / k: " << fsdp.bound;
  EXPECT_DOUBLE_EQ(fsdp.state.value, 10 * 46702792704.0 / 8960) << "all experts are stored";
  // Each of 8 has one expert: no other power of two moves less.
  const StrategyAnswer experts = named(answers, "fsdp+ep_fsdp");
  EXPECT_EQ(experts.mesh, "X=1024,Z=8");
  const double weights = 32 * 12 * 4096.0 * 14336 / (2 * 1.8e11);
  const double tokens = 32 * 4 * (2.0 * 2 * 4096 * 4096) / 4 / 1.8e11;  // 4096 tokens for each X
  EXPECT_NEAR(experts.comms.value, weights + tokens, 1e-9);
  EXPECT_DOUBLE_EQ(experts.math.value, fsdp.math.value);
}

TEST(ClosedForm, TheBatchOfExpertsAndWhatTheyMove) {
  ClosedFormQuery query = llama_on_a_pod();
  query.config = sizes_of_model("mixtral-8x7b");
  query.memory = BytesPerSecond(2.8e12);
  const ExpertsAnswer form = experts_answer(query).value();
  EXPECT_DOUBLE_EQ(form.least_batch, 4.59e14 / 2.8e12 * 8 / 2);
  EXPECT_DOUBLE_EQ(form.least_batch_int8, 4.59e14 / 2.8e12 / 2 * 8 / 2);
  const ExpertSharding& sharding = form.sharding.value();
  EXPECT_EQ(sharding.mesh.z, 8);
  EXPECT_DOUBLE_EQ(sharding.sent.value, 2.0 * 2 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(sharding.all_gather.value, sharding.sent.value / 1.8e11);
  EXPECT_DOUBLE_EQ(sharding.all_to_all.value, sharding.all_gather.value / 4);
  const double expert = 3.0 * 4096 * 14336;
  EXPECT_DOUBLE_EQ(sharding.weights.value, 32 * expert + 46702792704 - 32 * 8 * expert);
}

TEST(ClosedForm, ExpertsOnASwitchAndOnOneChip) {
  ClosedFormQuery query = llama_on_a_pod();
  EXPECT_FALSE(experts_answer(query).has_value()) << "no experts";
  query.config = sizes_of_model("mixtral-8x7b");
  query.rings = false;
  query.chips = 4;
  const ExpertsAnswer form = experts_answer(query).value();
  EXPECT_EQ(form.least_batch, 0) << "the bandwidth of memory is not known";
  EXPECT_EQ(form.sharding->all_ways, 4) << "two experts on each";
  EXPECT_DOUBLE_EQ(form.sharding->all_gather / form.sharding->all_to_all, form.sharding->mesh.z);
  query.chips = 1;
  EXPECT_FALSE(experts_answer(query)->sharding.has_value());
  EXPECT_EQ(strategy_answers(query).size(), 5U);
}

/// The layers of DeepSeek-v3 together, with its latent attention.
TEST(ClosedForm, LayersThatDifferCountOnAverage) {
  ClosedFormQuery query = llama_on_a_pod();
  query.config = sizes_of_model("deepseek-v3");
  const double passed = 3 * 18432.0 + 58 * 9 * 2048.0;
  const double held = 3 * 18432.0 + 58 * 257 * 2048.0;
  const StrategyAnswer fsdp = named(strategy_answers(query), "fsdp");
  EXPECT_NEAR(fsdp.math.value, 12 * 4194304.0 * 7168 * passed / (8192 * 4.59e14), 1e-9);
  EXPECT_NEAR(fsdp.comms.value, 12 * 7168.0 * held / (3 * 1.8e11), 1e-9);
  query.sequence = 4096;  // 1024 sequences: a chip gathers the latent elements of a whole one, whatever heads it has
  EXPECT_DOUBLE_EQ(context_bytes(query, 2048, 1).value, 2.0 * 4096 * 576);
  EXPECT_DOUBLE_EQ(context_bytes(query, 2048, 4).value, 2.0 * 4096 * 576);
}

}  // namespace
}  // namespace shardline
