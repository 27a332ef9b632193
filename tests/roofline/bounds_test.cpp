#include "roofline/price/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shardline::roofline {
namespace {

/// v5p: 4.59e14 FLOPs/s, 9e10 bytes/s one way.
const ChipRates kV5p{FlopsPerSecond(4.59e14), BytesPerSecond(1.8e11)};
const TwoProducts kExample{48000, 8192, 32768};
const TwoProducts kLlama70B{4194304, 8192, 28672};

TEST(Bounds, GiveTheFiguresOfTheBook) {
  EXPECT_DOUBLE_EQ(kV5p.intensity(), 2550);
  EXPECT_DOUBLE_EQ(least_tokens_per_chip_fsdp(2550, 3), 850);
  EXPECT_NEAR(optimal_x(kExample, 64, 2, 1, CountedPasses::forward), 13.69, 0.01);
  EXPECT_NEAR(least_tokens_per_chip(2550, 32768, 2, 1, CountedPasses::forward), 396.9, 0.05);
  EXPECT_NEAR(least_tokens_per_chip(2550, 13824, 2, 1, CountedPasses::forward), 940.8, 0.05);
  EXPECT_NEAR(most_tensor_chips(2550, 50000, 1, CountedPasses::forward), 19.6, 0.05);
  EXPECT_NEAR(least_tokens_per_pod(FlopsPerSecond(4.59e14), 8960, 4, BytesPerSecond(2.5e10)), 73440, 1);
  const auto range = compute_bound_x({4.19e6, 8192, 28672}, kV5p, 8960, 2, 1, CountedPasses::forward);
  ASSERT_TRUE(range.has_value());
  EXPECT_NEAR(range->first, 1643 - 285, 1);
  EXPECT_NEAR(range->second, 1643 + 285, 1);
}

struct Expected {
  TwoProducts layer;
  Index chips;
  CountedPasses passes;
  double x, y;
};

TEST(Bounds, ChooseTheMeshesOfTheBookAndOthersWithTheBackwardPass) {
  const std::vector<Expected> all = {
      {kExample, 64, CountedPasses::forward, 16, 4},
      {kExample, 64, CountedPasses::both_keeping, 8, 8},
      {kExample, 64, CountedPasses::both_regathering, 16, 4},
      {kLlama70B, power_of_two_below(8960), CountedPasses::forward, 2048, 4},
      {kLlama70B, power_of_two_below(8960), CountedPasses::both_keeping, 1024, 8},
      {kLlama70B, power_of_two_below(8960), CountedPasses::both_regathering, 1024, 8},
  };
  for (const Expected& expected : all) {
    const MixedMesh mesh = best_mixed_mesh(expected.layer, kV5p, expected.chips, 2, 1, 3, expected.passes);
    EXPECT_EQ(mesh.x, expected.x);
    EXPECT_EQ(mesh.y, expected.y);
  }
}

/// The optimum is that of mixed_time(), whose terms are written out here.
TEST(Bounds, TheOptimumIsTheLeastOfItsFunction) {
  for (const double m_x : {1.0, 2.0}) {
    for (const auto& [passes, fsdp, tensor] : {std::tuple{CountedPasses::forward, 4.0, 4.0},
                                               {CountedPasses::both_keeping, 12.0, 8.0},
                                               {CountedPasses::both_regathering, 12.0, 10.0}}) {
      const auto comms = [&, fsdp = fsdp, tensor = tensor](double x) {
        const double y = 64 / x;
        return (fsdp * 8192 * 32768 / (y * m_x) + tensor * 48000 * 8192 / x) / 1.8e11;
      };
      const double best = optimal_x(kExample, 64, m_x, 1, passes);
      EXPECT_LT(comms(best), comms(best * 1.001));
      EXPECT_LT(comms(best), comms(best / 1.001));
      EXPECT_NEAR(mixed_time(kExample, kV5p, {best, 64 / best, m_x, 1}, passes).comms().value, comms(best),
                  1e-9 * comms(best));
    }
  }
}

/// On each side of a bound, the limit is the one that the bound predicts.
TEST(Bounds, DivideComputeBoundFromCommunicationBound) {
  const double f = 28672;
  const auto passes = CountedPasses::forward;
  for (const double way : {0.99, 1.01}) {
    const bool above = way > 1;
    const double n = 8192;
    const double tokens = way * n * least_tokens_per_chip(2550, f, 2, 1, passes);
    const double x = optimal_x({tokens, 8192, f}, n, 2, 1, passes);
    EXPECT_EQ(mixed_time({tokens, 8192, f}, kV5p, {x, n / x, 2, 1}, passes).compute_bound(), above);
    EXPECT_EQ(compute_bound_x({tokens, 8192, f}, kV5p, n, 2, 1, passes).has_value(), above);
    EXPECT_EQ(fsdp_time({way * 850 * 64, 8192, f}, kV5p, 64, 3, passes).compute_bound(), above);
    EXPECT_EQ(data_parallel_time({way * 850 * 64, 8192, f}, kV5p, 64, 3, CountedPasses::both_keeping).comms().value <
                  8 * way * 850 * 8192 * f / 4.59e14,
              above);
    EXPECT_EQ(tensor_time({1e6, 8192, f}, kV5p, most_tensor_chips(2550, f, 1, passes) / way, 1, passes).compute_bound(),
              above);
  }
}

TEST(Bounds, AnAxisOfOneChipMovesNothing) {
  const auto passes = CountedPasses::both_keeping;
  EXPECT_EQ(mixed_time(kExample, kV5p, {64, 1, 3, 1}, passes).comms(),
            fsdp_time(kExample, kV5p, 64, 3, passes).comms());
  EXPECT_EQ(mixed_time(kExample, kV5p, {64, 1, 3, 1}, passes).tensor.value, 0);
  EXPECT_EQ(mixed_time(kExample, kV5p, {1, 64, 1, 3}, passes).fsdp.value, 0);
  EXPECT_EQ(data_parallel_time(kExample, kV5p, 1, 3, passes).comms().value, 0);
  // So many tokens that activations must not move: the weights get all torus axes.
  const MixedMesh all = best_mixed_mesh({1e9, 8192, 32768}, kV5p, 64, 2, 1, 3, passes);
  EXPECT_EQ(all.x, 64);
  EXPECT_EQ(all.x_torus_axes, 3);
}

TEST(Bounds, OfXEncloseWhatIsComputeBound) {
  const auto range = compute_bound_x(kLlama70B, kV5p, 8192, 2, 1, CountedPasses::both_keeping);
  ASSERT_TRUE(range.has_value());
  for (const double x : {range->first * 0.99, range->first * 1.01, range->second * 0.99, range->second * 1.01}) {
    const bool inside = x > range->first && x < range->second;
    EXPECT_EQ(mixed_time(kLlama70B, kV5p, {x, 8192 / x, 2, 1}, CountedPasses::both_keeping).compute_bound(), inside);
  }
}

TEST(Bounds, APipelineIsIdleWhileItFillsAndDrains) {
  const PipelineTime time = pipeline_time({1e6, 1000, 4000}, 8, kV5p, 64, 2, 4, 12);
  EXPECT_DOUBLE_EQ(time.math.value, 12 * 1e6 * 1000 * 4000 * 8 / (64 * 4.59e14));
  EXPECT_DOUBLE_EQ(time.bubble.value, time.math.value * 3 / 12);
  // 16 chips of a stage share 1e6 tokens. bf16[62500, 1000] goes there and back over one link of 9e10 bytes/s.
  // They reduce the gradients of 2 layers, 2 * 8e6 weights of 2 bytes counted twice, over two rings in both
  // directions.
  EXPECT_DOUBLE_EQ(time.comms.value, 2 * 62500 * 1000 * 2 / 9e10 + 2 * 2 * 1.6e7 / 3.6e11);
  const PipelineTime one = pipeline_time({1e6, 1000, 4000}, 8, kV5p, 1, 3, 1, 1);
  EXPECT_EQ(one.comms.value, 0);
  EXPECT_EQ(one.bubble.value, 0);
}

TEST(Bounds, PowersOfTwo) {
  EXPECT_EQ(power_of_two_below(1), 1);
  EXPECT_EQ(power_of_two_below(8191), 4096);
  EXPECT_EQ(power_of_two_below(8192), 8192);
  EXPECT_EQ(power_of_two_below(8960), 8192);
}

}  // namespace
}  // namespace shardline::roofline
