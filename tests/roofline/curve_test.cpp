// Rates by size: at the points, between them and beyond, against values worked out by hand.

#include "roofline/curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "roofline/gemm_rates.h"
#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

TEST(Curve, GoesThroughItsPointsAndHoldsItsEnds) {
  const Curve curve({{10, 1}, {1000, 100}});
  EXPECT_DOUBLE_EQ(curve.at(10), 1);
  EXPECT_DOUBLE_EQ(curve.at(1000), 100);
  EXPECT_DOUBLE_EQ(curve.at(1), 1);
  EXPECT_DOUBLE_EQ(curve.at(1e9), 100);
  EXPECT_NEAR(curve.at(100), 10, 1e-12);  // halfway in both logarithms
}

TEST(Curve, RefusesWhatIsNoCurve) {
  EXPECT_THROW(Curve({{10, 1}, {10, 2}}), Error);
  EXPECT_THROW(Curve({{10, -1}}), Error);
  EXPECT_THROW(static_cast<void>(Curve().at(1)), Error);
}

/// Rates that are the product of one factor for each extent come back between the points too, when the inverse factors
/// are linear in the logarithm.
TEST(GemmRates, InterpolatesTimesOfAFlop) {
  const std::vector<Index> sizes{10, 100};
  std::vector<FlopsPerSecond> rates;
  const auto time = [](double m, double n, double k) { return m * n * k; };
  for (const double m : {4.0, 2.0}) {
    for (const double n : {3.0, 1.0}) {
      for (const double k : {6.0, 5.0}) rates.emplace_back(1 / time(m, n, k));
    }
  }
  const GemmRates gemm(sizes, rates);
  EXPECT_NEAR(gemm.at(10, 100, 10).value, 1 / time(4, 1, 6), 1e-12);
  EXPECT_NEAR(gemm.at(100, 10, 100).value, 1 / time(2, 3, 5), 1e-12);
  EXPECT_NEAR(gemm.at(1000, 10, 100).value, 1 / time(2, 3, 5), 1e-12);
  const double root = 31.6227766;  // halfway: rounded to 32
  const double way = std::log(32 / 10.0) / std::log(10.0);
  EXPECT_NEAR(root, 32, 0.5);
  EXPECT_NEAR(gemm.at(32, 32, 32).value, 1 / time(4 - 2 * way, 3 - 2 * way, 6 - way), 1e-9);
}

/// A product of one row takes as long as one of the smallest size, as far as is known.
TEST(GemmRates, BelowTheGridTheTimeHolds) {
  const GemmRates gemm({8, 16}, std::vector<FlopsPerSecond>(8, FlopsPerSecond(64)));
  EXPECT_NEAR(gemm.at(1, 8, 8).value, 8, 1e-12);
  EXPECT_NEAR(gemm.at(2, 4, 8).value, 64 / 4.0 / 2.0, 1e-12);
  EXPECT_EQ(gemm.best(), FlopsPerSecond(64));
}

TEST(GemmRates, RefusesWhatIsNoGrid) {
  EXPECT_THROW(GemmRates({8, 16}, std::vector<FlopsPerSecond>(7, FlopsPerSecond(1))), Error);
  EXPECT_THROW(GemmRates({16, 8}, std::vector<FlopsPerSecond>(8, FlopsPerSecond(1))), Error);
  EXPECT_THROW(GemmRates({8}, {FlopsPerSecond(0)}), Error);
}

}  // namespace
}  // namespace shardline::roofline
