// The closed form of generation against figures of book sections 7.1 and 8.1, worked out by hand.

#include "models/planning/generation_closed_form.h"

#include <gtest/gtest.h>

#include <set>

#include "models/architecture/known_models.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

constexpr Bytes kBf16(2);
constexpr Bytes kInt8(1);
constexpr Bytes kInt4(0.5);
constexpr double kLlama70B = 70553706496;  // weights

/// A v5e chip that multiplies in bf16.
GenerationChip v5e() { return {FlopsPerSecond(1.97e14), BytesPerSecond(8.1e11), Bytes(16e9)}; }

GenerationModel llama70(Bytes weight, Bytes cache) {
  return generation_model(sizes_of_model("llama3-70b"), weight, cache);
}

/// Section 7.1.5: 30e9 weights in int8, caches of 819 MB.
TEST(GenerationClosedForm, StepsOfThePopQuiz) {
  const GenerationModel model{.parameters = 30e9, .weights = Bytes(30e9), .cache_per_token = Bytes(1e5)};
  const DecodeStep few = decode_step(model, v5e(), {.chips = 16, .sequences = 4, .context = 8190});
  EXPECT_NEAR(few.time().value, 33.276e9 / 12.96e12, 1e-12);
  EXPECT_FALSE(few.compute_bound());
  const DecodeStep many = decode_step(model, v5e(), {.chips = 16, .sequences = 256, .context = 8190});
  EXPECT_NEAR(many.time().value, 209.664e9 / 12.96e12 + 15.36e12 / 3.152e15, 1e-12);
  EXPECT_TRUE(many.compute_bound());
}

/// Chapter 8: batch 32 of 8192 tokens, int8, on a 4x2.
TEST(GenerationClosedForm, LlamaOnEightChips) {
  const GenerationModel model = llama70(kInt8, kInt8);
  EXPECT_EQ(model.parameters, kLlama70B);
  EXPECT_EQ(model.weights.value, kLlama70B);
  EXPECT_EQ(model.cache_per_token.value, 2 * 8 * 128 * 80);
  const GenerationLoad load{.chips = 8, .sequences = 32, .context = 8192};
  const DecodeStep step = decode_step(model, v5e(), load);
  EXPECT_NEAR(step.time().value, (kLlama70B + 42949672960.0) / 6.48e12, 1e-12);
  EXPECT_NEAR(step.time().value, 17e-3, 1e-3) << "the book's 17 ms";
  EXPECT_NEAR(step.flops.value, 64 * kLlama70B / 1.576e15, 1e-12);
  EXPECT_NEAR(step.attention.value, 32.0 * 8192 * 4 * 64 * 128 * 80 / 1.576e15, 1e-12);
  EXPECT_LT(step.attention, step.caches) << "attention is bound by reading its caches";
  EXPECT_NEAR(queries_per_chip(Seconds(0.019), load, 512), 32 / (0.019 * 512 * 8), 1e-12);
}

TEST(GenerationClosedForm, TwiceTheChipsHalveEveryPart) {
  const GenerationModel model = llama70(kBf16, kInt8);
  const DecodeStep one = decode_step(model, v5e(), {.chips = 16, .sequences = 24, .context = 4096});
  const DecodeStep two = decode_step(model, v5e(), {.chips = 32, .sequences = 24, .context = 4096});
  EXPECT_DOUBLE_EQ(two.parameters.value, one.parameters.value / 2);
  EXPECT_DOUBLE_EQ(two.caches.value, one.caches.value / 2);
  EXPECT_DOUBLE_EQ(two.flops.value, one.flops.value / 2);
  EXPECT_DOUBLE_EQ(two.attention.value, one.attention.value / 2);
}

TEST(GenerationClosedForm, StoredTypesChangeBytesAndNoFlops) {
  const GenerationLoad load{.chips = 16, .sequences = 24, .context = 4096};
  const DecodeStep bf16 = decode_step(llama70(kBf16, kBf16), v5e(), load);
  const DecodeStep int8 = decode_step(llama70(kInt8, kBf16), v5e(), load);
  const DecodeStep int4 = decode_step(llama70(kInt4, kInt8), v5e(), load);
  EXPECT_DOUBLE_EQ(int8.parameters.value, bf16.parameters.value / 2);
  EXPECT_DOUBLE_EQ(int8.caches.value, bf16.caches.value);
  EXPECT_DOUBLE_EQ(int4.parameters.value, bf16.parameters.value / 4);
  EXPECT_DOUBLE_EQ(int4.caches.value, bf16.caches.value / 2);
  EXPECT_EQ(int8.flops, bf16.flops);
  EXPECT_EQ(int4.flops, bf16.flops);
}

/// Section 7.1.3: 240, 120 and 240, with the book's 8.2e11 bytes a second.
TEST(GenerationClosedForm, TheCriticalBatchFollowsTheTypes) {
  const GenerationChip in_bf16{FlopsPerSecond(1.97e14), BytesPerSecond(8.2e11), {}};
  const GenerationChip in_int8{FlopsPerSecond(3.94e14), BytesPerSecond(8.2e11), {}};
  EXPECT_NEAR(critical_batch(llama70(kBf16, kBf16), in_bf16), 240.24, 0.01);
  EXPECT_NEAR(critical_batch(llama70(kInt8, kBf16), in_bf16), 120.12, 0.01);
  EXPECT_NEAR(critical_batch(llama70(kInt8, kBf16), in_int8), 240.24, 0.01);
  const GenerationModel model = llama70(kInt8, kInt8);
  EXPECT_FALSE(decode_step(model, in_bf16, {.chips = 8, .sequences = 120, .context = 1}).compute_bound());
  EXPECT_TRUE(decode_step(model, in_bf16, {.chips = 8, .sequences = 121, .context = 1}).compute_bound());
}

/// Section 8.1.1, with 70.55e9 weights in place of 70e9: as many caches on each smallest slice, and three times as many
/// on twice the chips.
TEST(GenerationClosedForm, CachesThatFit) {
  const double of_16 = (256e9 - 2 * kLlama70B) / (327680 * 8192.0);
  EXPECT_NEAR(of_16, 42.8, 0.01);
  const GenerationModel bf16 = llama70(kBf16, kBf16);
  EXPECT_EQ(most_sequences(bf16, v5e(), 16, 8192), 42);
  EXPECT_EQ(most_sequences(llama70(kInt8, kInt8), v5e(), 8, 8192), 42);
  EXPECT_EQ(most_sequences(llama70(kInt4, kInt4), v5e(), 4, 8192), 42);
  EXPECT_EQ(most_sequences(bf16, v5e(), 32, 8192), 138);
  EXPECT_EQ(most_sequences(bf16, v5e(), 8, 8192), 0);
  EXPECT_LT(cache_room(bf16, v5e(), 8).value, 0);
  EXPECT_EQ(least_slice(bf16, v5e(), {.sequences = 0}), 16);
  EXPECT_EQ(least_slice(llama70(kInt8, kInt8), v5e(), {.sequences = 0}), 8);
  EXPECT_EQ(least_slice(llama70(kInt4, kInt4), v5e(), {.sequences = 0}), 4);
  EXPECT_EQ(least_slice(bf16, v5e(), {.sequences = 42, .context = 8192}), 16);
  EXPECT_EQ(least_slice(bf16, v5e(), {.sequences = 43, .context = 8192}), 32);
}

TEST(GenerationClosedForm, CachesThatJustFit) {
  const GenerationModel model{.parameters = 10, .weights = Bytes(10), .cache_per_token = Bytes(2)};
  const auto chip = [](double capacity) {
    return GenerationChip{FlopsPerSecond(1), BytesPerSecond(1), Bytes(capacity)};
  };
  EXPECT_EQ(most_sequences(model, chip(30), 1, 5), 2);
  EXPECT_EQ(most_sequences(model, chip(29.9), 1, 5), 1);
  EXPECT_EQ(most_sequences(model, chip(10), 1, 5), 0);
  EXPECT_EQ(most_sequences(model, chip(15), 2, 5), 2);
}

TEST(GenerationClosedForm, RefusesAnEmptyBatch) {
  const GenerationModel model = llama70(kInt8, kInt8);
  EXPECT_EQ(usage_message([&] { decode_step(model, v5e(), {.chips = 8, .sequences = 0, .context = 8192}); }),
            "0 sequences: at least one generates");
  EXPECT_EQ(usage_message([&] { decode_step(model, v5e(), {.chips = 0, .sequences = 1, .context = 8192}); }),
            "0 chips: at least one generates");
}

/// Section 8.1.2.
TEST(GenerationClosedForm, PrefillAndItsServers) {
  const GenerationModel book{.parameters = 70e9, .weights = Bytes(140e9)};
  const PrefillTime prefill = prefill_time(book, v5e(), {.chips = 16, .tokens = 8192, .utilisation = 0.4});
  EXPECT_NEAR(prefill.total().value, 1.14688e15 / 1.2608e15, 1e-12);
  EXPECT_NEAR(prefill_servers(Seconds(0.91), Seconds(0.019), 32, 512), 0.91 * 32 / 9.728, 1e-12);
  EXPECT_EQ(evicted_tokens(32, 8192, 4096), 96);
  // A prompt of ten tokens waits for the weights.
  const PrefillTime brief = prefill_time(book, v5e(), {.chips = 16, .tokens = 10, .utilisation = 0.4});
  EXPECT_NEAR(brief.total().value, 140e9 / 12.96e12, 1e-12);
  // Attention: four FLOPs for each element of a query and each token up to its own.
  const PrefillTime whole = prefill_time(llama70(kBf16, kBf16), v5e(), {.chips = 1, .tokens = 3, .utilisation = 1});
  EXPECT_NEAR(whole.attention.value, (1 + 2 + 3) * 4.0 * 64 * 128 * 80 / 1.97e14, 1e-20);
}

TEST(GenerationClosedForm, TheCostOfAMillionTokens) {
  // 8 chips at 1.20 an hour, 32 tokens in 20 ms: 1600 tokens a second, 625 s a million.
  EXPECT_NEAR(cost_per_million(1.2, 8, Seconds(0.02), 32), 625.0 / 3600 * 9.6, 1e-12);
  EXPECT_EQ(cost_per_million(0, 8, Seconds(0.02), 32), 0);
}

/// Every pair of choices of two of eight experts: the mean of what both tokens together read.
TEST(GenerationClosedForm, ExpertsThatNobodyChoosesAreNotRead) {
  std::vector<std::set<int>> choices;
  for (int first = 0; first < 8; ++first) {
    for (int second = first + 1; second < 8; ++second) choices.push_back({first, second});
  }
  double read = 0;
  for (const std::set<int>& one : choices) {
    for (std::set<int> both : choices) {
      both.insert(one.begin(), one.end());
      read += static_cast<double>(both.size()) / 8;
    }
  }
  read /= static_cast<double>(choices.size() * choices.size());
  const GenerationModel model = generation_model(sizes_of_model("mixtral-8x7b"), kBf16, kBf16);
  const double experts = 32.0 * 8 * 3 * 4096 * 14336 * 2;
  EXPECT_EQ(model.expert_weights.value, experts);
  EXPECT_NEAR(weights_read(model, 1).value, model.weights.value - 0.75 * experts, 1);
  EXPECT_NEAR(weights_read(model, 1).value, 2 * model.parameters, 1) << "one token reads what it passes";
  EXPECT_NEAR(weights_read(model, 2).value, model.weights.value - (1 - read) * experts, 1);
  EXPECT_NEAR(weights_read(model, 500).value, model.weights.value, 1);
  EXPECT_EQ(weights_read(llama70(kInt8, kInt8), 1).value, kLlama70B) << "without experts all is read";
}

/// DeepSeek-V3 keeps 512 + 64 elements of a token and layer. All 128 heads read them, so attention is nearly bound by
/// its products: with caches in int8 on v5e it is.
TEST(GenerationClosedForm, LatentCachesAreSmallAndMultipliedByAllHeads) {
  const TransformerConfig config = sizes_of_model("deepseek-v3");
  const GenerationModel model = generation_model(config, kInt8, kInt8);
  EXPECT_EQ(model.cache_per_token.value, 61 * 576);
  EXPECT_EQ(model.attention.value, 61.0 * 2 * 128 * (576 + 512));
  const DecodeStep step = decode_step(model, v5e(), {.chips = 64, .sequences = 32, .context = 8192});
  EXPECT_GT(step.attention, step.caches);
  EXPECT_EQ(step.time(), step.attention + std::max(step.flops, step.parameters));
}

}  // namespace
}  // namespace shardline
