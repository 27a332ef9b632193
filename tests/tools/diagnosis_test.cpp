// What the diagnosis names: the operation that is farthest off, and the cause that the figures show.

#include "tools/diagnosis.h"

#include <gtest/gtest.h>

namespace shardline::tools {
namespace {

KindSummary kind(const std::string& name, double measured, double predicted, const std::string& limiter) {
  KindSummary summary;
  summary.kind = name;
  summary.count = 10;
  summary.measured = Seconds(measured);
  summary.predicted = Seconds(predicted);
  summary.limiter = limiter;
  summary.slowest = summary.fastest = Seconds(measured);
  summary.flops = Flops(1e9 * predicted);
  return summary;
}

KindSummary gather(double measured, double predicted) {
  KindSummary summary = kind("all_gather", measured, predicted, "link");
  summary.axis = "X";
  summary.wire_bytes = Bytes(6e9);
  summary.flops = Flops(0);
  summary.exposed = summary.measured;
  return summary;
}

roofline::Hardware hardware(bool network) {
  roofline::Hardware hardware{
      .name = "m", .matmul = FlopsPerSecond(1e9), .memory = BytesPerSecond(1e9), .overhead = Seconds(0)};
  hardware.links["X"] = {.latency = Seconds(0), .bandwidth = BytesPerSecond(6e9), .frees_cores = network};
  return hardware;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Diagnosis, ASlowLink) {
  const Comparison comparison{{gather(2, 1), kind("einsum", 3, 3, "compute")}, 1, Seconds(5), Seconds(4)};
  const std::string text = diagnosis(comparison, hardware(true));
  EXPECT_TRUE(says(text, "compute binds 75% of the time; einsum alone takes 75% of it")) << text;
  EXPECT_TRUE(says(text, "The whole takes 1.25 times its prediction")) << text;
  EXPECT_TRUE(says(text,
                   "Farthest from its prediction is all_gather over X, 2.00 times it and 40% of the time: it moves "
                   "3.00 GB/s where 6.00 GB/s were expected: the link of axis X is slower or busier"))
      << text;
  EXPECT_EQ(comparison_json(comparison, hardware(true))["worst"]["text"], "all_gather over X");
}

TEST(Diagnosis, ASlowRankMakesOthersWait) {
  KindSummary einsum = kind("einsum", 6, 3, "compute");
  einsum.slowest_rank = 3;
  einsum.fastest = Seconds(3);
  const Comparison comparison{{gather(9, 1), einsum}, 1, Seconds(15), Seconds(4)};
  EXPECT_TRUE(
      says(diagnosis(comparison, hardware(false)),
           "rank 3 takes 2.00 times as long as the fastest rank for einsum: its core is shared, slower or clocked"
           " down, and the others wait for it"))
      << diagnosis(comparison, hardware(false));
}

TEST(Diagnosis, TooFewThreads) {
  const Comparison comparison{
      {kind("einsum", 6, 3, "compute")}, 1, Seconds(6), Seconds(3), {"the file has 2 threads, here is 1"}};
  EXPECT_TRUE(says(diagnosis(comparison, hardware(true)), "every rank is slow alike, and the file has 2 threads"));
}

TEST(Diagnosis, NothingIsOff) {
  const Comparison comparison{{kind("einsum", 3, 3, "compute")}, 1, Seconds(3), Seconds(3)};
  EXPECT_TRUE(says(diagnosis(comparison, hardware(true)), "No operation of weight takes much longer than predicted"));
  EXPECT_EQ(impossible_rates(comparison, hardware(true)), "");
}

TEST(Diagnosis, MoreThanThePeakIsFlagged) {
  const Comparison comparison{{kind("einsum", 1, 2, "compute")}, 1, Seconds(1), Seconds(2)};
  EXPECT_TRUE(says(impossible_rates(comparison, hardware(true)), "200% of the best rate that was measured"));
}

}  // namespace
}  // namespace shardline::tools
