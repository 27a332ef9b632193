// Rates by size: at the points, between them and beyond them, compared with values worked out by hand.

#include "roofline/price/curve.h"

#include <gtest/gtest.h>

#include <array>

#include "roofline/price/gemm_rates.h"
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

/// The time of a product has a fixed part and a part that grows with each extent, as in packing and
/// multiplying. The rates return it exactly at every point, also below the grid. Beyond the grid the rate of
/// the largest size holds.
TEST(GemmRates, LiesOnTheLineBetweenTwoTimes) {
  const auto time = [](double m, double n, double k) { return (m + 3) * (n + 40) * (k + 7) * 1e-9; };
  const std::vector<Index> sizes{8, 64, 512};
  std::vector<FlopsPerSecond> rates;
  for (const Index m : sizes) {
    for (const Index n : sizes) {
      for (const Index k : sizes) {
        const auto volume = static_cast<double>(m * n * k);
        rates.emplace_back(volume / time(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)));
      }
    }
  }
  const GemmRates gemm(sizes, rates);
  for (const auto& [m, n, k] :
       {std::array<Index, 3>{8, 512, 64}, {512, 16, 512}, {100, 33, 9}, {512, 4, 512}, {1, 2, 3}}) {
    const double taken = time(static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
    EXPECT_NEAR(static_cast<double>(m * n * k) / gemm.at(m, n, k).value / taken, 1, 1e-12) << m << " " << n << " " << k;
  }
  EXPECT_NEAR(gemm.at(4096, 16, 4096).value / gemm.at(512, 16, 512).value, 1, 1e-12);
}

/// Below the smallest size, a product takes at most the time of the smallest size, and its rate is at most that
/// of the smallest size, for all measurements of the two smallest. With one size its rate holds.
TEST(GemmRates, BelowTheGrid) {
  const auto of_n = [](double small, double large) {
    std::vector<FlopsPerSecond> rates;
    for (int m = 0; m < 2; ++m) {
      for (const double rate : {small, large}) rates.insert(rates.end(), 2, FlopsPerSecond(rate));
    }
    return GemmRates({8, 16}, rates).at(8, 2, 8).value;
  };
  EXPECT_NEAR(of_n(64, 64), 64, 1e-12);
  EXPECT_NEAR(of_n(64, 32), 64, 1e-12);   // four times the time for twice the size: no faster than the rate
  EXPECT_NEAR(of_n(64, 256), 16, 1e-12);  // half the time for twice the size: no longer than the smallest
  EXPECT_NEAR(GemmRates({8}, {FlopsPerSecond(64)}).at(1, 8, 2).value, 64, 1e-12);
}

TEST(GemmRates, RefusesWhatIsNoGrid) {
  EXPECT_THROW(GemmRates({8, 16}, std::vector<FlopsPerSecond>(7, FlopsPerSecond(1))), Error);
  EXPECT_THROW(GemmRates({16, 8}, std::vector<FlopsPerSecond>(8, FlopsPerSecond(1))), Error);
  EXPECT_THROW(GemmRates({8}, {FlopsPerSecond(0)}), Error);
}

}  // namespace
}  // namespace shardline::roofline
