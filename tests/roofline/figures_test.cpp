// Combines several measurements of a machine.

#include "roofline/machine/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/base/check.h"

namespace shardline::roofline {
namespace {

Machine measured(double factor) {
  const auto rate = [&](double value) { return BytesPerSecond(value * factor); };
  Machine machine{.name = "m"};
  machine.compute[DType::f32] = {.peak = FlopsPerSecond(8 * factor),
                                 .gemm = GemmRates({4}, {FlopsPerSecond(8)}),
                                 .kernels = {{"a/b", FlopsPerSecond(3)}}};
  machine.memory = {.read = rate(1), .copy = rate(2), .triad = rate(3), .triad_allocating = rate(4)};
  machine.memory.caches = Curve({{10, 5}, {20, 6 * factor}});
  machine.overhead = Seconds(1);
  const SharedMemory shared{Seconds(1), Curve({{1, 1}}), Curve({{1, 1}})};
  machine.resources["node X"] = {.kind = ResourceKind::shared_memory,
                                 .latency = Seconds(factor),
                                 .one_way = rate(1),
                                 .both_ways = rate(1),
                                 .shared = shared};
  return machine;
}

bool names(const Machine& machine, const std::string& path) {
  const std::vector<std::string>& paths = machine.measured.unreliable;
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

TEST(Figures, TheMedianCounts) {
  const Machine machine = combine({measured(1), measured(4), measured(2)});
  EXPECT_EQ(machine.compute.at(DType::f32).peak, FlopsPerSecond(16));
  EXPECT_EQ(machine.memory.copy, BytesPerSecond(4));
  EXPECT_EQ(machine.memory.caches.points()[1].rate, 12);
  EXPECT_EQ(machine.resources.at("node X").latency, Seconds(2));
}

TEST(Figures, WhatDoesNotAgreeIsNamed) {
  const Machine machine = combine({measured(1), measured(1.2), measured(1.1)});
  EXPECT_TRUE(names(machine, "/compute/f32/peak_flops_per_s"));
  EXPECT_TRUE(names(machine, "/memory/caches/1/bytes_per_s"));
  EXPECT_TRUE(names(machine, "/resources/node X/latency_s"));
  EXPECT_FALSE(names(machine, "/memory/caches/0/bytes_per_s"));
  EXPECT_FALSE(names(machine, "/compute/f32/kernels/a~1b"));
  EXPECT_TRUE(combine({measured(1), measured(1.05)}).measured.unreliable.empty());
  // One outlier of four is outside the middle half.
  EXPECT_TRUE(combine({measured(1), measured(9), measured(1.05), measured(1)}).measured.unreliable.empty());
}

TEST(Figures, OnceIsNotReliable) {
  const Machine machine = combine({measured(1)});
  EXPECT_TRUE(names(machine, "/compute/f32/kernels/a~1b"));
  EXPECT_TRUE(names(machine, "/resources/node X/shared/add/0/bytes_per_s"));
}

TEST(Figures, EveryPathOnce) {
  Machine machine = measured(1);
  std::multiset<std::string> paths;
  for_each_figure(machine, [&](const std::string& path, double&) { paths.insert(path); });
  for (const std::string& path : paths) EXPECT_EQ(paths.count(path), 1U) << path;
  EXPECT_EQ(machine, measured(1));
}

TEST(Figures, OtherFiguresAreRefused) {
  Machine other = measured(1);
  other.compute[DType::f32].kernels.clear();
  EXPECT_THROW(static_cast<void>(combine({measured(1), other})), Error);
}

}  // namespace
}  // namespace shardline::roofline
