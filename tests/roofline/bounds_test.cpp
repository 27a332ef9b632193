#include "roofline/price/bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "roofline/machine/catalogue.h"
#include "roofline/price/collective_cost.h"

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

/// Mixtral 8x7B: 8 experts of 14336, of which a token passes 2.
const TwoProducts kMixtral{4194304, 4096, 2 * 14336, 4, 2};

/// The bytes of all experts move, and the FLOPs of two count.
TEST(Bounds, ExpertsMoveAllAndMultiplyAFew) {
  const auto passes = CountedPasses::both_keeping;
  const LayerTime time = mixed_time(kMixtral, kV5p, {512, 16, 2, 1}, passes);
  EXPECT_DOUBLE_EQ(time.math.value, 12 * 4194304.0 * 4096 * 2 * 14336 / (8192 * 4.59e14));
  EXPECT_DOUBLE_EQ(time.fsdp.value, 12 * 4096.0 * 8 * 14336 / 16 / (2 * 1.8e11));
  EXPECT_DOUBLE_EQ(time.tensor.value, 8 * 4194304.0 * 4096 / 512 / 1.8e11);
  EXPECT_DOUBLE_EQ(data_parallel_time(kMixtral, kV5p, 64, 3, passes).fsdp.value, 8 * 4096.0 * 8 * 14336 / (3 * 1.8e11));
  const PipelineTime pipeline = pipeline_time(kMixtral, 8, kV5p, 64, 2, 4, 12);
  EXPECT_DOUBLE_EQ(pipeline.comms.value, 4 * 4194304.0 * 4096 / 16 / 9e10 + 2 * 8 * 4096.0 * 8 * 14336 / (2 * 1.8e11));
}

/// With four times as many weights for each that multiplies, bounds lie four times as high.
TEST(Bounds, ExpertsNeedMoreTokens) {
  const auto passes = CountedPasses::forward;
  const double n = 8192;
  for (const double way : {0.99, 1.01}) {
    const bool above = way > 1;
    TwoProducts layer = kMixtral;
    layer.tokens = way * n * 4 * least_tokens_per_chip_fsdp(2550, 3);
    EXPECT_EQ(fsdp_time(layer, kV5p, n, 3, passes).compute_bound(), above);
    layer.tokens = way * n * layer.held * least_tokens_per_chip(2550, layer.d_ff, 2, 1, passes);
    const double x = optimal_x(layer, n, 2, 1, passes);
    EXPECT_EQ(mixed_time(layer, kV5p, {x, n / x, 2, 1}, passes).compute_bound(), above);
    EXPECT_EQ(compute_bound_x(layer, kV5p, n, 2, 1, passes).has_value(), above);
  }
}

/// Each pass sends 2 bytes of each element of each token to 2 experts, and back; over a ring of Z a quarter of the time
/// of a gather.
TEST(Bounds, ExpertShardingMovesTokensInPlaceOfWeights) {
  const auto passes = CountedPasses::both_keeping;
  const LayerTime time = expert_time(kMixtral, kV5p, {1024, 8, 2, true}, passes);
  EXPECT_DOUBLE_EQ(time.math.value, mixed_time(kMixtral, kV5p, {8192, 1, 3, 1}, passes).math.value);
  EXPECT_DOUBLE_EQ(time.fsdp.value, 12 * 4096.0 * 14336 / (2 * 1.8e11));
  const double gather = 2 * 2 * 4194304.0 / 1024 * 4096 / 1.8e11;
  EXPECT_DOUBLE_EQ(time.routing.value, 4 * gather / 4);
  EXPECT_DOUBLE_EQ(time.comms().value, time.fsdp.value + time.routing.value);
  EXPECT_DOUBLE_EQ(expert_time(kMixtral, kV5p, {1024, 8, 2, false}, passes).routing.value, 4 * gather / 8);
  EXPECT_DOUBLE_EQ(expert_time(kMixtral, kV5p, {1024, 8, 2, true}, CountedPasses::forward).routing.value, gather / 2);
  EXPECT_EQ(expert_time(kMixtral, kV5p, {8192, 1, 3, true}, passes).comms(),
            fsdp_time(kMixtral, kV5p, 8192, 3, passes).comms());
}

/// The price of both collectives in the book's limit: on rings of v5p, and behind the switch of h100.
TEST(Bounds, AnAllToAllIsAQuarterOfAGatherOnARing) {
  for (const auto& [chip, rings] : {std::pair{"v5p", true}, {"h100", false}}) {
    for (const Index ranks : {4, 8, 16}) {
      const AbstractMesh mesh = AbstractMesh::parse("X=" + std::to_string(ranks));
      Hardware hardware = hardware_named(chip, mesh, DType::bf16);
      hardware.cost_mode = CostMode::book_limit;
      const auto p = static_cast<double>(ranks);
      const Bytes whole(1e12);
      const Seconds gather = collective_price({.ranks = {ranks}, .sent = whole * (1 - 1 / p)}, {"X"}, hardware).time;
      const Seconds scatter =
          collective_price({.ranks = {ranks}, .sent = whole / p * (1 - 1 / p), .scatters = true}, {"X"}, hardware).time;
      EXPECT_NEAR(scatter / gather, share_of_gather(p, rings), 1e-9) << chip << ' ' << ranks;
    }
  }
}

TEST(Bounds, TheBestExpertMeshMovesLeast) {
  for (const double tokens : {1e4, 1e6, 1e8}) {
    for (const Index experts : {2, 8, 9, 256}) {
      for (const Index chips : {2, 64, 1024}) {
        const TwoProducts layer{tokens, 4096, 2 * 14336, static_cast<double>(experts) / 2, 2};
        const auto passes = CountedPasses::both_keeping;
        const ExpertMesh best = best_expert_mesh(layer, kV5p, chips, experts, 2, true, passes);
        EXPECT_EQ(best.chips(), static_cast<double>(chips));
        EXPECT_LE(best.z, static_cast<double>(experts));
        for (Index z = 2; z <= experts && z <= chips; z *= 2) {
          const ExpertMesh other{static_cast<double>(chips) / static_cast<double>(z), static_cast<double>(z), 2, true};
          EXPECT_LE(expert_time(layer, kV5p, best, passes).comms(), expert_time(layer, kV5p, other, passes).comms());
        }
      }
    }
  }
}

/// Sections 1.1 and 4.8, with the intensity 240 of a v5e.
TEST(Bounds, TheLeastBatchOfExperts) {
  EXPECT_DOUBLE_EQ(least_batch(240, Bytes(2), 1), 240);
  EXPECT_DOUBLE_EQ(least_batch(240, Bytes(1), 1), 120);
  EXPECT_DOUBLE_EQ(least_batch(240, Bytes(1), 256.0 / 8), 3840);
  EXPECT_DOUBLE_EQ(least_batch(240, Bytes(2), 256.0 / 8), 7680);
}

}  // namespace
}  // namespace shardline::roofline
