#include "tools/training/slowdown.h"

#include <gtest/gtest.h>

namespace shardline::tools {
namespace {

WatchedTimes step(double all, double work = 0, double data = 0) {
  return {.all = Seconds(all), .work = Seconds(work), .data = Seconds(data)};
}

/// Adds `count` steps. The results that came, and the number of the step after which each came.
std::vector<std::pair<int, Slowdown>> add(SlowdownWatch& watch, int count, const WatchedTimes& times) {
  std::vector<std::pair<int, Slowdown>> found;
  for (int i = 0; i < count; ++i) {
    if (const std::optional<Slowdown> slowdown = watch.add(times)) found.emplace_back(i, *slowdown);
  }
  return found;
}

TEST(Slowdown, NamesTheFirstSlowStepAndBothTimes) {
  SlowdownWatch watch;
  EXPECT_TRUE(add(watch, 100, step(1, 0.75)).empty());
  const auto found = add(watch, 100, step(2, 1.5));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.since, 100);
  EXPECT_EQ(found[0].second.before.all, Seconds(1));
  EXPECT_EQ(found[0].second.now.all, Seconds(2));
  EXPECT_EQ(found[0].second.before.work, Seconds(0.75));
  EXPECT_EQ(found[0].second.now.work, Seconds(1.5));
  EXPECT_EQ(found[0].first, 7);
}

TEST(Slowdown, SingleSlowStepsDoNotCount) {
  SlowdownWatch watch;
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(watch.add(step(i % 3 == 0 ? 5 : 1))) << i;
}

TEST(Slowdown, LessThanAQuarterMoreDoesNotCount) {
  SlowdownWatch watch;
  add(watch, 50, step(1));
  EXPECT_TRUE(add(watch, 200, step(1.24)).empty());
  EXPECT_EQ(add(watch, 200, step(1.26)).size(), 1U);  // beside the first time, not beside the last
}

TEST(Slowdown, ShortStepsAreSeenForThreeSeconds) {
  SlowdownWatch watch;
  EXPECT_TRUE(add(watch, 996, step(0.0625)).empty());  // blocks of 6
  EXPECT_TRUE(add(watch, 21, step(0.125)).empty());    // 7 blocks of 3
  EXPECT_TRUE(add(watch, 102, step(0.0625)).empty());
  const auto found = add(watch, 100, step(0.125));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].first, 23);
  EXPECT_EQ(found[0].second.since, 996 + 21 + 102);
}

TEST(Slowdown, SlowGrowthIsFound) {
  SlowdownWatch watch;
  int found = 0;
  for (int i = 0; i < 400; ++i) found += watch.add(step(1 + i * 0.005)) ? 1 : 0;  // three times as long in the end
  EXPECT_GE(found, 2);
  EXPECT_LE(found, 7);
}

TEST(Slowdown, AFasterRunIsTheNewMeasure) {
  SlowdownWatch watch;
  add(watch, 30, step(2));
  EXPECT_TRUE(add(watch, 60, step(1)).empty());
  const auto found = add(watch, 60, step(2));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.since, 90);
}

RankSlowdown rank(const char* host, const WatchedTimes& before, const WatchedTimes& now) { return {host, before, now}; }

TEST(Slowdown, TextNamesTheRankThatWorksLonger) {
  EXPECT_EQ(
      slowdown_text(101, {rank("a", step(0.1, 0.08), step(0.2, 0.08)), rank("b", step(0.1, 0.08), step(0.2, 0.18))}),
      "steps are slower since step 101: 200 ms, 100 ms before; rank 1 (b) works 180 ms, 80.0 ms before; the others "
      "wait");
}

TEST(Slowdown, TextNamesTheRankThatReadsLonger) {
  EXPECT_EQ(
      slowdown_text(7, {rank("a", step(0.1, 0.08, 0), step(0.2, 0.08, 0.1)), rank("b", step(0.1), step(0.2))}),
      "steps are slower since step 7: 200 ms, 100 ms before; rank 0 (a) reads samples for 100 ms, 0 s before; the "
      "others wait");
}

TEST(Slowdown, TextNamesFourRanksAndCountsTheOthers) {
  const RankSlowdown works = rank("a", step(0.1, 0.08), step(0.2, 0.16));
  const RankSlowdown waits = rank("a", step(0.1, 0.08), step(0.2, 0.08));
  const std::string text = slowdown_text(7, {works, works, waits, works, works, works});
  EXPECT_NE(text.find("rank 4 (a) works 160 ms, 80.0 ms before and 1 more; the others wait"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("rank 5"), std::string::npos) << text;
}

TEST(Slowdown, TextOfAllRanksAndOfNone) {
  const RankSlowdown works = rank("a", step(0.1, 0.08), step(0.2, 0.16));
  const RankSlowdown waits = rank("a", step(0.1, 0.08), step(0.2, 0.11));
  EXPECT_EQ(
      slowdown_text(7, {works, works}),
      "steps are slower since step 7: 200 ms, 100 ms before; all ranks are slower: rank 0 (a) works 160 ms, 80.0 ms "
      "before");
  EXPECT_EQ(slowdown_text(7, {works}),
            "steps are slower since step 7: 200 ms, 100 ms before; rank 0 (a) works 160 ms, 80.0 ms before");
  EXPECT_EQ(slowdown_text(7, {waits, waits}),
            "steps are slower since step 7: 200 ms, 100 ms before; no rank works longer: the time goes to "
            "communication, or to other work on the cores");
}

}  // namespace
}  // namespace shardline::tools
