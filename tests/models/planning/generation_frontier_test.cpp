// The frontier of latency and throughput, against a search of its own and figures of book chapter 8 by hand.

#include "models/planning/generation_frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/architecture/known_models.h"

namespace shardline {
namespace {

/// The model with weights and caches in int8 on v5e, products in bf16.
FrontierQuery on_v5e(const std::string& name, double context) {
  const TransformerConfig config = sizes_of_model(name);
  return {.model = generation_model(config, Bytes(1), Bytes(1)),
          .layer = decode_layer(config),
          .chip = {FlopsPerSecond(1.97e14), BytesPerSecond(8.1e11), Bytes(16e9)},
          .links = {.link = BytesPerSecond(9e10), .torus_axes = 2},
          .context = context};
}

/// Section 8.1: 17 ms of batch 32 on a 4x2. Links hide; nothing overlapped they add.
TEST(Frontier, APointOfTheBook) {
  const FrontierPoint point = frontier_point(on_v5e("llama3-70b", 8192), 8, 32);
  EXPECT_NEAR(point.lower().value, 17.5e-3, 0.05e-3);
  EXPECT_NEAR(point.links.time.value, 80 * 4 * 2.0 * 32 * 8192 / 1.8e11, 1e-9);
  EXPECT_NEAR(point.upper().value, point.lower().value + point.links.time.value, 1e-12);
  EXPECT_FALSE(point.link_bound());
  EXPECT_NEAR(point.tokens_per_chip(), 32 / 17.5e-3 / 8, 1) << "the book has 235 a chip, of 17 ms";
  EXPECT_TRUE(point.fits);
  EXPECT_FALSE(frontier_point(on_v5e("llama3-70b", 8192), 8, 43).fits);
}

/// One sequence on 256 chips waits for hops and not for memory.
TEST(Frontier, LinksBindWhereTheyTakeLonger) {
  const FrontierPoint point = frontier_point(on_v5e("llama3-70b", 8192), 256, 1);
  EXPECT_TRUE(point.link_bound());
  EXPECT_EQ(point.lower(), point.links.time);
  EXPECT_GT(point.links.time.value, 80 * 4 * 16e-6) << "16 hops for each of four collectives a layer";
}

TEST(Frontier, HasDoublingBatchesUpToTheLargestThatFits) {
  std::map<double, std::vector<double>> batches;
  for (const FrontierPoint& point : frontier(on_v5e("llama3-70b", 8192), {4, 8, 16}, 4096)) {
    batches[point.load.chips].push_back(point.load.sequences);
    EXPECT_TRUE(point.fits);
  }
  const std::map<double, std::vector<double>> expected = {{8, {1, 2, 4, 8, 16, 32, 42}},
                                                          {16, {1, 2, 4, 8, 16, 32, 64, 128, 138}}};
  EXPECT_EQ(batches, expected) << "4 chips do not hold the weights";
  EXPECT_EQ(frontier(on_v5e("llama3-70b", 8192), {8}, 1).size(), 1U);
}

TEST(Frontier, WithoutACapacityAllBatchesAreThere) {
  FrontierQuery query = on_v5e("llama3-70b", 8192);
  query.chip.capacity = Bytes(0);
  const std::vector<FrontierPoint> points = frontier(query, {2}, 100);
  ASSERT_EQ(points.size(), 8U);
  EXPECT_EQ(points.back().load.sequences, 100);
}

/// Sorted by latency, a point is on the frontier if its throughput is above that of all faster ones.
TEST(Frontier, MarksThoseThatNoOtherBeats) {
  std::vector<FrontierPoint> points = frontier(on_v5e("llama3-70b", 2048), {8, 16, 32, 64, 128, 256}, 4096);
  ASSERT_GT(points.size(), 40U);
  std::sort(points.begin(), points.end(), [](const FrontierPoint& a, const FrontierPoint& b) {
    if (a.lower() != b.lower()) return a.lower() < b.lower();
    return a.tokens_per_chip() > b.tokens_per_chip();
  });
  double highest = 0;
  int marked = 0;
  for (const FrontierPoint& point : points) {
    EXPECT_EQ(point.best, point.tokens_per_chip() > highest) << point.load.chips << " x " << point.load.sequences;
    highest = std::max(highest, point.tokens_per_chip());
    if (point.best) ++marked;
  }
  EXPECT_GT(marked, 3);
  EXPECT_LT(marked, static_cast<int>(points.size()));
}

/// Exercise 8.3: LLaMA-3 405B in 15 ms. 32 chips read the weights in 15.6 ms. On 64 chips a sequence takes 64.4 us of
/// FLOPs and 40.8 us of its cache. From the critical batch of 122 on a chip makes no more tokens, up to 142 sequences
/// in 15 ms. In 10 ms there is time for the weights and 53 caches.
TEST(Frontier, TheMostThroughputWithinALimit) {
  const FrontierQuery query = on_v5e("llama3-405b", 8192);
  const std::optional<FrontierPoint> best = best_within(query, {8, 16, 32, 64, 128}, 4096, Seconds(15e-3));
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->load.chips, 64);
  EXPECT_EQ(best->load.sequences, 122);
  const double flops = 2 * query.model.parameters / (64 * 1.97e14);
  const double cache = 2.0 * 8 * 128 * 126 * 8192 / (64 * 8.1e11);
  EXPECT_NEAR(best->lower().value, 122 * (flops + cache), 1e-12);
  EXPECT_EQ(std::floor(15e-3 / (flops + cache)), 142);
  EXPECT_NEAR(best->tokens_per_chip(), 1 / (flops + cache) / 64, 1e-9);
  const double weights = query.model.parameters / (64 * 8.1e11);
  const std::optional<FrontierPoint> sooner = best_within(query, {64}, 4096, Seconds(10e-3));
  ASSERT_TRUE(sooner.has_value());
  EXPECT_EQ(sooner->load.sequences, std::floor((10e-3 - weights) / cache));
  EXPECT_EQ(sooner->load.sequences, 53);
  EXPECT_FALSE(best_within(query, {8, 16, 32}, 4096, Seconds(15e-3)).has_value());
  EXPECT_FALSE(best_within(query, {64}, 4096, Seconds(1e-6)).has_value());
}

}  // namespace
}  // namespace shardline
