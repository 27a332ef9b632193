// Where attention's FLOPs count, beside products written out by hand.

#include "models/planning/attention_share.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/architecture/known_models.h"

namespace shardline {
namespace {

/// A layer as in book section 4.3: D = N H, as many heads of keys as of queries, F = 4 D.
TransformerConfig of_the_book(Index d) { return {16, d, 5, d / 128, d / 128, 128, 4 * d}; }

TEST(AttentionShare, CountsALayer) {
  const TransformerConfig config = sizes_of_model("llama3-70b");
  for (const Index sequence : {1, 100, 4096}) {
    const auto t = static_cast<double>(sequence);
    const double d = 8192, pairs = t * (t + 1) / 2;
    const LayerFlops flops = layer_flops(config, sequence);
    EXPECT_DOUBLE_EQ(flops.attention.value, (4 + 10) * 64 * 128 * pairs);
    EXPECT_DOUBLE_EQ(flops.unmasked.value, 12 * t * t * 64 * 128);
    const double products = 6 * t * (3 * d * 28672 + 2 * d * 8192 + 2 * d * 1024);
    EXPECT_GT(flops.rest.value, products);
    EXPECT_LT(flops.rest.value, 1.002 * products) << "norms, rotations and sums";
    EXPECT_DOUBLE_EQ(flops.share(), flops.attention.value / (flops.attention.value + flops.rest.value));
  }
}

/// By the book's count attention and the rest are equal at T = 8 D. With the mask half the pairs count, and 14 FLOPs in
/// place of 12: at 8 D (12 / 7).
TEST(AttentionShare, IsHalfAtEightTimesD) {
  for (const Index d : {1024, 4608, 8192}) {
    const auto rule = static_cast<double>(8 * d);
    const EqualSequences equal = equal_sequences(of_the_book(d));
    EXPECT_NEAR(static_cast<double>(equal.unmasked) / rule, 1, 0.01) << d;
    EXPECT_NEAR(static_cast<double>(equal.computed) / (rule * 12 / 7), 1, 0.01) << d;
    EXPECT_NEAR(layer_flops(of_the_book(d), 8 * d).unmasked_share(), 0.5, 0.003) << d;
  }
}

TEST(AttentionShare, EqualSequencesAreTheShortest) {
  const TransformerConfig config = sizes_of_model("llama3-8b");
  const EqualSequences equal = equal_sequences(config);
  EXPECT_GE(layer_flops(config, equal.computed).share(), 0.5);
  EXPECT_LT(layer_flops(config, equal.computed - 1).share(), 0.5);
  EXPECT_GE(layer_flops(config, equal.unmasked).unmasked_share(), 0.5 * (1 - 1e-9));
  EXPECT_LT(layer_flops(config, equal.unmasked - 1).unmasked_share(), 0.5);
}

}  // namespace
}  // namespace shardline
