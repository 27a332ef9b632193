// What a decode step moves, against the bytes of book sections 7.3, 7.6, 8.1.1 and exercise 7.7 by hand.

#include "models/planning/generation_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/architecture/known_models.h"

namespace shardline {
namespace {

constexpr Seconds kNoHops(0);

/// v5e: 9e10 bytes a second both ways over each of two torus axes.
GenerationLinks v5e(Seconds hop) { return {.link = BytesPerSecond(9e10), .torus_axes = 2, .hop = hop}; }

DecodeLayer llama70() { return decode_layer(sizes_of_model("llama3-70b")); }

TEST(GenerationLinks, OneChipMovesNothing) {
  const std::vector<LinkTime> times = link_times(llama70(), v5e(Seconds(1e-6)), 1, 64);
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(times[0].split, DecodeSplit::alone);
  EXPECT_EQ(times[0].time.value, 0);
}

/// Section 8.1.1: 2 B D bytes over one axis take 11.65 us at batch 64. An MLP gathers and scatters them.
TEST(GenerationLinks, OneAxisMovesTheStream) {
  GenerationLinks links = v5e(kNoHops);
  links.torus_axes = 1;
  const double gather = 2.0 * 64 * 8192 / 9e10;
  EXPECT_NEAR(gather, 11.65e-6, 0.01e-6);
  EXPECT_DOUBLE_EQ(one_axis_mlp_time(llama70(), links, 32, 64).value, 2 * gather);
  const LinkTime eight = one_axis_time(llama70(), links, 8, 64);
  EXPECT_EQ(eight.split, DecodeSplit::heads);
  EXPECT_DOUBLE_EQ(eight.time.value, 80 * 4 * gather);
}

/// Beyond 8 chips the 8 heads of keys are no more: q [64 sequences, 64 heads of 128] goes from heads to sequences.
TEST(GenerationLinks, BeyondTheHeadsByBatchOrByPositions) {
  const GenerationLinks links = v5e(kNoHops);
  const double stream = 4 * 2.0 * 64 * 8192 / 1.8e11;
  const LinkTime batch = one_axis_time(llama70(), links, 32, 64);
  EXPECT_EQ(batch.split, DecodeSplit::batch);
  EXPECT_EQ(batch.y, 8);
  EXPECT_EQ(batch.z, 4);
  const double all_to_all = 2.0 * 64 * 8192 / 8 / 4 / 9e10;
  EXPECT_DOUBLE_EQ(batch.time.value, 80 * (stream + 2 * all_to_all));
  const LinkTime positions = one_axis_time(llama70(), links, 32, 3);
  EXPECT_EQ(positions.split, DecodeSplit::positions);
  const double q = 2.0 * 3 * 8192 / 8 / 9e10;
  const double o = 4.0 * 3 * (8192 + 2 * 64) / 8 / 9e10;
  EXPECT_DOUBLE_EQ(positions.time.value, 80 * (stream * 3 / 64 + q + o));
  EXPECT_EQ(one_axis_time(llama70(), links, 32, 4).split, DecodeSplit::batch);
}

TEST(GenerationLinks, SmallBatchesWaitForHops) {
  GenerationLinks links = v5e(Seconds(1e-6));
  links.torus_axes = 1;
  EXPECT_DOUBLE_EQ(one_axis_mlp_time(llama70(), links, 16, 1).value, 2 * 8e-6) << "half way round 16 chips";
  links.torus_axes = 2;
  EXPECT_DOUBLE_EQ(one_axis_mlp_time(llama70(), links, 16, 1).value, 2 * 4e-6) << "two rings of 4";
  EXPECT_DOUBLE_EQ(one_axis_mlp_time(llama70(), links, 2, 1).value, 2 * std::sqrt(2) * 1e-6);
  links.rings = false;
  links.torus_axes = 1;
  EXPECT_DOUBLE_EQ(one_axis_mlp_time(llama70(), links, 16, 1).value, 2e-6) << "through a switch";
  EXPECT_DOUBLE_EQ(latency_bound_bytes(8, BytesPerSecond(4.5e10), Seconds(1e-6)).value, 360e3) << "section 7.6.3";
}

/// 2D of the gated model over X = 4 and 16 others, of which 8 split heads.
TEST(GenerationLinks, TwoAxesMoveTheirParts) {
  const LinkTime way = two_axes_time(llama70(), v5e(kNoHops), 4, 64, 64);
  EXPECT_EQ(way.y, 8);
  EXPECT_EQ(way.z, 2);
  const double w = 9e10;
  const double stream = 4 * 2.0 * 64 * 8192 / 4 / w;
  const double mlp = 3 * 2.0 * 64 * 28672 / 16 / w;
  const double qkvo = 2.0 * 64 * (8192 + 2 * 1024 + 8192) / 16 / w;
  const double all_to_alls = 2 * 2.0 * 16 * 8192 / 8 / 4 / w;
  EXPECT_NEAR(way.time.value, 80 * (stream + mlp + qkvo + all_to_alls), 1e-12);
}

/// Exercise 7.7: F = 4 D without a gate on three torus axes: from 72 chips on, with X = 3 there.
TEST(GenerationLinks, TheCrossoverOfExercise77) {
  const DecodeLayer layer{.layers = 1, .d_model = 4096, .d_ff = 16384, .up_products = 1};
  const GenerationLinks links{.link = BytesPerSecond(1e11), .torus_axes = 3, .hop = kNoHops};
  const std::optional<double> crossover = least_chips_for_two_axes(layer, links);
  ASSERT_TRUE(crossover.has_value());
  EXPECT_DOUBLE_EQ(*crossover, 72);
  const auto best_2d = [&](double chips) {
    double best = 1e9;
    for (double x = 1.5; x <= chips / 2; x += 0.01) {
      best = std::min(best, two_axes_mlp_time(layer, links, x, chips, 32).value);
    }
    return best;
  };
  const double of_1d = one_axis_mlp_time(layer, links, 72, 32).value;
  EXPECT_DOUBLE_EQ(of_1d, 4.0 * 32 * 4096 / 3e11) << "4 B D / 3 W, of any number of chips";
  EXPECT_NEAR(best_2d(72), of_1d, 1e-6 * of_1d);
  EXPECT_GT(best_2d(70), of_1d);
  EXPECT_LT(best_2d(74), of_1d);
}

TEST(GenerationLinks, TheCrossoverKnowsGatesAxesAndSwitches) {
  // LLaMA-3 70B, F = 3.5 D with a gate: 2 M^2 3 3.5 / (M - 1).
  GenerationLinks links = v5e(kNoHops);
  EXPECT_DOUBLE_EQ(*least_chips_for_two_axes(llama70(), links), 84);
  links.torus_axes = 3;
  EXPECT_DOUBLE_EQ(*least_chips_for_two_axes(llama70(), links), 94.5);
  links.torus_axes = 1;
  EXPECT_FALSE(least_chips_for_two_axes(llama70(), links).has_value());
  EXPECT_EQ(link_times(llama70(), links, 64, 64).size(), 1U) << "no axis for the others";
  links.rings = false;
  EXPECT_DOUBLE_EQ(*least_chips_for_two_axes(llama70(), links), 21);
}

/// The fastest is first, and 2D has sequences for all chips that split them.
TEST(GenerationLinks, TheFastestWayIsFirst) {
  for (const double chips : {2, 8, 16, 64, 256}) {
    for (const double sequences : {1, 3, 8, 64, 512}) {
      const std::vector<LinkTime> times = link_times(llama70(), v5e(Seconds(1e-6)), chips, sequences);
      for (const LinkTime& each : times) {
        EXPECT_LE(times.front().time, each.time);
        EXPECT_DOUBLE_EQ(each.x * each.y * each.z, chips);
        if (each.split != DecodeSplit::two_axes) continue;
        EXPECT_GE(sequences, each.x * each.z);
        for (double x = 2; 2 * x <= chips; x *= 2) {
          const LinkTime other = two_axes_time(llama70(), v5e(Seconds(1e-6)), x, chips, sequences);
          EXPECT_TRUE(sequences < x * other.z || each.time <= other.time);
        }
      }
    }
  }
  const std::vector<LinkTime> big = link_times(llama70(), v5e(kNoHops), 256, 512);
  EXPECT_EQ(big.front().split, DecodeSplit::two_axes) << "beyond the crossover";
}

/// Section 7.3.2: F = 16384, batch 32, beta = 8: 64 ways. Weights in int8 are read twice as fast.
TEST(GenerationLinks, WaysUntilTheLinksBind) {
  const GenerationLinks links{.link = BytesPerSecond(1e11), .hop = kNoHops};
  EXPECT_DOUBLE_EQ(most_chips_by_memory(16384, Bytes(2), 32, BytesPerSecond(8e11), links), 64);
  EXPECT_DOUBLE_EQ(most_chips_by_memory(16384, Bytes(1), 32, BytesPerSecond(8e11), links), 32);
}

TEST(GenerationLinks, LayersOfUnusualModels) {
  const DecodeLayer latent = decode_layer(sizes_of_model("deepseek-v3"));
  EXPECT_EQ(latent.head_ways, 1) << "all heads read the one small cache";
  EXPECT_EQ(latent.queries, 128 * 576);
  EXPECT_EQ(latent.outputs, 128 * 512);
  EXPECT_EQ(latent.keys, 576);
  const DecodeLayer mixtral = decode_layer(sizes_of_model("mixtral-8x7b"));
  EXPECT_EQ(mixtral.d_ff, 2 * 14336) << "a token passes two experts";
  EXPECT_EQ(decode_layer(sizes_of_model("gpt3")).up_products, 1);
}

}  // namespace
}  // namespace shardline
