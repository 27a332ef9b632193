#include "collectives/schedule/traffic.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

TEST(Traffic, IsThatOfTheTextbook) {
  // n divisible by p, f32: (p - 1) / p of the array for a gather, twice that for an all_reduce.
  for (const Index p : {2, 3, 4, 8, 17}) {
    const Index n = 100 * p;
    const Index most = 4 * 100 * (p - 1);
    EXPECT_EQ(traffic(Kind::all_gather, Algorithm::ring, {p}, n, {4, 4}), (Traffic{p - 1, most}));
    EXPECT_EQ(traffic(Kind::reduce_scatter, Algorithm::ring, {p}, n, {4, 4}), (Traffic{p - 1, most}));
    EXPECT_EQ(traffic(Kind::all_reduce, Algorithm::ring, {p}, n, {4, 4}), (Traffic{2 * (p - 1), 2 * most}));
    EXPECT_EQ(traffic(Kind::all_to_all, Algorithm::pairwise, {p}, n, {4, 4}), (Traffic{p - 1, most}));
    // Hop by hop: a block at distance d crosses d links, 1 + 2 + ... + (p - 1) in total.
    EXPECT_EQ(traffic(Kind::all_to_all, Algorithm::ring, {p}, n, {4, 4}), (Traffic{p - 1, 4 * 100 * p * (p - 1) / 2}));
    EXPECT_EQ(traffic(Kind::all_gather, Algorithm::direct, {p}, n, {4, 4}), (Traffic{2, most}));
    EXPECT_EQ(traffic(Kind::shift, Algorithm::ring, {p}, n, {4, 4}), (Traffic{1, 4 * n}));
  }
}

TEST(Traffic, OfUnevenBlocksIsThatOfTheBusiestPosition) {
  // 5 elements on 4 positions: 2, 1, 1, 1. A position that does not send the block of two elements sends less.
  EXPECT_EQ(traffic(Kind::all_gather, Algorithm::ring, {4}, 5, {2, 2}), (Traffic{3, 2 * 4}));
  EXPECT_EQ(traffic(Kind::reduce_scatter, Algorithm::ring, {4}, 5, {2, 2}), (Traffic{3, 2 * 4}));
}

TEST(Traffic, OfOnePositionOrNothingIsNone) {
  EXPECT_EQ(traffic(Kind::all_reduce, Algorithm::ring, {1}, 100, {4, 4}), (Traffic{0, 0}));
  EXPECT_EQ(traffic(Kind::all_to_all, Algorithm::ring, {4}, 0, {4, 4}), (Traffic{0, 0}));
}

TEST(Traffic, OfNativeIsUnknown) { EXPECT_THROW(traffic(Kind::all_gather, Algorithm::native, {2}, 8, {4, 4}), Error); }

}  // namespace
}  // namespace shardline::collectives
