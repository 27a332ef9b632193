// The share of other work on a machine, from made-up texts of /proc/stat. Shares are worked out by hand.
#include "runtime/host/cpu_times.h"

#include <gtest/gtest.h>

namespace shardline {
namespace {

constexpr Seconds kTick{0.01};

CpuTimes times(const std::string& text, const std::vector<int>& cpus) {
  const std::optional<CpuTimes> known = cpu_times(text, cpus, kTick);
  EXPECT_TRUE(known.has_value()) << text;
  return known.value_or(CpuTimes{});
}

/// Two CPUs, and other lines. Columns: user nice system idle iowait irq softirq steal guest guest_nice.
const char* const kBefore =
    "cpu  3000 0 300 9000 30 0 3 0 0 0\n"
    "cpu0 1000 0 100 5000 10 0 1 0 0 0\n"
    "cpu1 2000 0 200 4000 20 0 2 0 0 0\n"
    "intr 7 7 7\n"
    "ctxt 5\n";

TEST(CpuTimes, AddsTheCountersOfTheCpusAskedFor) {
  const CpuTimes one = times(kBefore, {1});
  EXPECT_DOUBLE_EQ(one.idle.value, 40.2);
  EXPECT_DOUBLE_EQ(one.stolen.value, 0);
  EXPECT_DOUBLE_EQ(one.counted.value, 62.22);
  EXPECT_DOUBLE_EQ(times(kBefore, {0, 1}).counted.value, 62.22 + 61.11);
  EXPECT_DOUBLE_EQ(times(kBefore, {}).counted.value, 0);
}

TEST(CpuTimes, GuestTimeIsInUserTimeAndCountsOnce) {
  EXPECT_DOUBLE_EQ(times("cpu0 100 20 3 4 5 6 7 8 90 19\n", {0}).counted.value, 1.53);
  EXPECT_DOUBLE_EQ(times("cpu0 100 20 3 4 5 6 7 8 90 19\n", {0}).stolen.value, 0.08);
}

TEST(CpuTimes, OldKernelsHaveFewerColumns) {
  EXPECT_DOUBLE_EQ(times("cpu3 1 2 3 4\n", {3}).counted.value, 0.1);
  EXPECT_DOUBLE_EQ(times("cpu3 1 2 3 4\n", {3}).idle.value, 0.04);
}

TEST(CpuTimes, WhatTheTextDoesNotTellIsUnknown) {
  EXPECT_FALSE(cpu_times("", {0}, kTick));
  EXPECT_FALSE(cpu_times(kBefore, {0, 2}, kTick));                // offline
  EXPECT_FALSE(cpu_times("cpu  1 2 3 4\n", {0}, kTick));          // only the sum
  EXPECT_FALSE(cpu_times("cpu10 1 2 3 4\n", {1}, kTick));         // another CPU whose name begins alike
  EXPECT_FALSE(cpu_times("cpu0 1 2 three 4\n", {0}, kTick));      // not a number
  EXPECT_FALSE(cpu_times("intr 1\ncpu0 1 2 3 4\n", {0}, kTick));  // not at the place of such lines
  EXPECT_FALSE(cpu_times("<html>not found</html>\n", {0, 1}, kTick));
}

TEST(CpuTimes, CountersThatGoBackStandStill) {
  const CpuTimes later = times("cpu0 1100 0 100 4990 10 0 1 0 0 0\n", {0});
  const CpuTimes difference = between(times(kBefore, {0}), later);
  EXPECT_DOUBLE_EQ(difference.idle.value, 0);
  EXPECT_NEAR(difference.counted.value, 0.9, 1e-9);
}

/// One second on both CPUs of kBefore.
std::optional<double> share_after(const std::string& text, double own, const std::vector<int>& cpus = {0, 1}) {
  const CpuTimes difference = between(times(kBefore, cpus), times(text, cpus));
  return share_of_others({static_cast<Index>(cpus.size()), Seconds(1), Seconds(own), difference});
}

TEST(ShareOfOthers, NobodyElse) {
  const char* const busy =
      "cpu0 1098 0 102 5000 10 0 1 0 0 0\n"
      "cpu1 2100 0 200 4000 20 0 2 0 0 0\n";
  EXPECT_DOUBLE_EQ(share_after(busy, 2).value(), 0);
  EXPECT_DOUBLE_EQ(share_after(busy, 2.03).value(), 0);  // the process' clock is finer than the counters
  const char* const half_idle =
      "cpu0 1100 0 100 5000 10 0 1 0 0 0\n"
      "cpu1 2000 0 200 4090 30 0 2 0 0 0\n";
  EXPECT_DOUBLE_EQ(share_after(half_idle, 1).value(), 0);
}

TEST(ShareOfOthers, AnotherProcessOnOneCore) {
  // The ranks used all of CPU 0 and 0.3 s of CPU 1.
  const char* const beside =
      "cpu0 1100 0 100 5000 10 0 1 0 0 0\n"
      "cpu1 2090 0 210 4000 20 0 2 0 0 0\n";
  EXPECT_DOUBLE_EQ(share_after(beside, 1.3).value(), 0.35);
  EXPECT_DOUBLE_EQ(share_after(beside, 0.3, {1}).value(), 0.7);  // ranks bound to CPU 1
  EXPECT_DOUBLE_EQ(share_after(beside, 1, {0}).value(), 0);      // ranks bound to CPU 0
}

TEST(ShareOfOthers, StolenTimeIsOthersUse) {
  const char* const stolen =
      "cpu0 1060 0 100 5000 10 0 1 40 0 0\n"
      "cpu1 2080 0 200 4000 20 0 2 20 0 0\n";
  EXPECT_DOUBLE_EQ(share_after(stolen, 1.4).value(), 0.3);
  EXPECT_DOUBLE_EQ(share_after(stolen, 2).value(), 0.3);  // a kernel that also counts it as the process' own time
}

TEST(ShareOfOthers, InterruptsAreOthersUse) {
  const char* const interrupts =
      "cpu0 1080 0 100 5000 10 5 16 0 0 0\n"
      "cpu1 2100 0 200 4000 20 0 2 0 0 0\n";
  EXPECT_DOUBLE_EQ(share_after(interrupts, 1.8).value(), 0.1);
}

TEST(ShareOfOthers, UnknownWhereTheCountersDoNotTell) {
  EXPECT_FALSE(share_after(kBefore, 1.5));  // the counters do not change
  const CpuTimes tenth{Seconds(0), Seconds(0), Seconds(0.1)};
  EXPECT_FALSE(share_of_others({1, Seconds(0.1), Seconds(0), tenth}));  // too short for steps of 10 ms
  EXPECT_FALSE(share_of_others({0, Seconds(1), Seconds(0), tenth}));
}

}  // namespace
}  // namespace shardline
