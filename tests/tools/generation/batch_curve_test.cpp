// Where the lines of the bound of decode cross.

#include <gtest/gtest.h>

#include "tools/generation/generate_page.h"

namespace shardline::tools {
namespace {

/// Reading takes 10 + n/2 seconds of n sequences, computing n * `each`.
std::vector<BatchPoint> lines(double each) {
  std::vector<BatchPoint> curve;
  for (const Index sequences : {1, 2, 4, 8, 16, 32, 64}) {
    const auto n = static_cast<double>(sequences);
    curve.push_back({sequences, Seconds(1), {.memory = Seconds(10 + n / 2), .math = Seconds(n * each)}});
  }
  return curve;
}

TEST(Knee, IsWhereTheLinesOfTheBoundCross) {
  EXPECT_NEAR(knee_of(lines(1)).value(), 20, 1e-12);
  EXPECT_NEAR(knee_of(lines(0.75)).value(), 40, 1e-12);
  EXPECT_NEAR(knee_of(lines(3)).value(), 4, 1e-12);
  EXPECT_FALSE(knee_of(lines(0.5)).has_value()) << "parallel lines";
  EXPECT_FALSE(knee_of(lines(0.6)).has_value()) << "they cross at 100 sequences";
  EXPECT_NEAR(knee_of(lines(100)).value(), 1, 1e-12) << "computing is longer from the first point on";
}

}  // namespace
}  // namespace shardline::tools
