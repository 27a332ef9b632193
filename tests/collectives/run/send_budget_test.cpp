#include "collectives/run/send_budget.h"

#include <gtest/gtest.h>

namespace shardline::collectives {
namespace {

constexpr Index kMega = Index{1} << 20;

TEST(SendBudget, AllowsUpToItsLimit) {
  SendBudget budget;
  EXPECT_EQ(budget.limit(), kMega);
  EXPECT_TRUE(budget.allows());
  budget.posted(kMega - 1);
  EXPECT_TRUE(budget.allows());
  budget.posted(1);
  EXPECT_FALSE(budget.allows());
  budget.completed(1);
  EXPECT_TRUE(budget.allows());
}

/// Polls every 10 ms of a link that carries `rate` bytes/s while the budget is used up each time.
Index limit_after(double rate, int polls) {
  SendBudget budget;
  Index under_way = 0;
  for (int i = 1; i <= polls; ++i) {
    while (budget.allows()) {
      budget.posted(kMega / 4);
      under_way += kMega / 4;
    }
    const Index carried = std::min(under_way, static_cast<Index>(rate * 0.01));
    budget.completed(carried);
    under_way -= carried;
    budget.polled(Seconds(0.01 * i));
  }
  return budget.limit();
}

TEST(SendBudget, HoldsWhatTheLinkCarriesInTwoPolls) {
  EXPECT_EQ(limit_after(6e6, 50), kMega);  // never less than a few segments
  EXPECT_NEAR(static_cast<double>(limit_after(125e6, 50)), 2.5e6, 2.5e5);
  EXPECT_NEAR(static_cast<double>(limit_after(1.25e9, 50)), 25e6, 25e5);
  EXPECT_EQ(limit_after(1e12, 50), 64 * kMega);
}

/// Sockets take a first burst at once.
TEST(SendBudget, ABurstSaysLittleAboutTheLink) {
  SendBudget budget;
  budget.posted(100 * kMega);
  budget.completed(50 * kMega);
  budget.polled(Seconds(0.05));
  EXPECT_LE(budget.limit(), 3 * kMega / 2);
}

TEST(SendBudget, FollowsALinkThatGetsSlower) {
  SendBudget budget;
  budget.posted(100 * kMega);
  for (int i = 1; i <= 60; ++i) {
    budget.completed(i <= 20 ? kMega : kMega / 4);
    budget.polled(Seconds(0.01 * i));
  }
  EXPECT_LE(budget.limit(), kMega);
}

/// A waiting rank polls much more often than sends end.
TEST(SendBudget, ManyPollsInAWaitAreOne) {
  SendBudget budget;
  budget.posted(100 * kMega);
  for (int i = 1; i <= 10000; ++i) {
    if (i % 1000 == 0) budget.completed(kMega);
    budget.polled(Seconds(1e-5 * i));
  }
  EXPECT_NEAR(static_cast<double>(budget.limit()), 2 * 1.048576e6, 0.5 * 1.048576e6);
}

}  // namespace
}  // namespace shardline::collectives
