// The diagnosis names the operation with the largest ratio, and the cause that follows from the figures.

#include "tools/trace/diagnosis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/trace/busy.h"

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
  const Comparison comparison{
      .kinds = {gather(2, 1), kind("einsum", 3, 3, "compute")}, .measured = Seconds(5), .predicted = Seconds(4)};
  const std::string text = diagnosis(comparison, hardware(true));
  EXPECT_TRUE(says(text, "compute binds 75% of the time; einsum alone takes 75% of it")) << text;
  EXPECT_TRUE(says(text, "The whole takes 1.25 times its prediction")) << text;
  EXPECT_TRUE(says(text,
                   "Farthest from its prediction is all_gather over X, 2.00 times it and 40% of the time: it moves "
                   "3.00 GB/s where 6.00 GB/s were expected: the link of axis X is slower or busier"))
      << text;
  EXPECT_EQ(comparison_json(comparison, hardware(true))["worst"]["text"], "all_gather over X");
}

/// Stages do different work, and a move waits for the other stage: neither is a slow rank or a slow link.
TEST(Diagnosis, OfStages) {
  KindSummary receive = kind("receive", 50, 1, "link");
  receive.axis = "X";
  receive.wire_bytes = Bytes(1);
  KindSummary einsum = kind("einsum", 6, 3, "compute");
  einsum.slowest_rank = 3;
  einsum.fastest = Seconds(1);
  const Comparison comparison{
      .kinds = {receive, einsum}, .ranks = 1, .stages = 2, .measured = Seconds(5), .predicted = Seconds(4)};
  const std::string text = diagnosis(comparison, hardware(true));
  EXPECT_TRUE(says(text, "Farthest from its prediction is einsum, 2.00 times it")) << text;
  EXPECT_FALSE(says(text, "rank 3")) << text;
  EXPECT_TRUE(says(text, "Products are 60% of the time")) << text;  // 6 s of the two stages' 10 s
  EXPECT_EQ(comparison_json(comparison, hardware(true))["worst"]["text"], "einsum");
}

TEST(Diagnosis, ASlowRankMakesOthersWait) {
  KindSummary einsum = kind("einsum", 6, 3, "compute");
  einsum.slowest_rank = 3;
  einsum.fastest = Seconds(3);
  const Comparison comparison{.kinds = {gather(9, 1), einsum}, .measured = Seconds(15), .predicted = Seconds(4)};
  EXPECT_TRUE(
      says(diagnosis(comparison, hardware(false)),
           "rank 3 takes 2.00 times as long as the fastest rank for einsum: its core is shared, slower or clocked"
           " down, and the others wait for it"))
      << diagnosis(comparison, hardware(false));
}

TEST(Diagnosis, TooFewThreads) {
  const Comparison comparison{.kinds = {kind("einsum", 6, 3, "compute")},
                              .measured = Seconds(6),
                              .predicted = Seconds(3),
                              .warnings = {"the file has 2 threads, here is 1"}};
  EXPECT_TRUE(says(diagnosis(comparison, hardware(true)), "every rank is slow alike, and the file has 2 threads"));
}

TEST(Diagnosis, NothingIsOff) {
  const Comparison comparison{
      .kinds = {kind("einsum", 3, 3, "compute")}, .measured = Seconds(3), .predicted = Seconds(3)};
  EXPECT_TRUE(says(diagnosis(comparison, hardware(true)), "No operation of weight takes much longer than predicted"));
  EXPECT_EQ(impossible_rates(comparison, hardware(true)), "");
}

TEST(Diagnosis, MoreThanThePeakIsFlagged) {
  const Comparison comparison{
      .kinds = {kind("einsum", 1, 2, "compute")}, .measured = Seconds(1), .predicted = Seconds(2)};
  EXPECT_TRUE(says(impossible_rates(comparison, hardware(true)), "200% of the best rate that was measured"));
}

/// A run of one gather and one product, both slow, on a machine where other work took a share.
std::string diagnosis_beside(double share, double gather_ratio, double whole_ratio) {
  Comparison comparison{.kinds = {gather(gather_ratio, 1), kind("einsum", 3 * whole_ratio, 3, "compute")},
                        .measured = Seconds(4 * whole_ratio),
                        .predicted = Seconds(4)};
  comparison.busiest = OtherWork::Node{.share = share, .cores = 2};
  return diagnosis(comparison, hardware(false));
}

TEST(Diagnosis, OtherWorkIsNamedFirstAndNothingElseIsBlamed) {
  const std::string text = diagnosis_beside(0.48, 17, 2);
  EXPECT_EQ(text.find("The machine was busy with other work, which took 0.48 of its 2 cores' time: "), 0U) << text;
  EXPECT_TRUE(says(text, "all_gather over X, 17.00 times it and 74% of the time: ranks waited for a core that other"))
      << text;
  EXPECT_FALSE(says(text, "memory is slower")) << text;
}

TEST(Diagnosis, OtherWorkIsNamedWhereOneOperationAloneIsSlow) {
  const std::string text = diagnosis_beside(0.05, 1.5, 1);
  EXPECT_EQ(text.find("The machine was busy"), 0U) << text;
}

TEST(Diagnosis, OtherWorkOnTheCoreOfOneRank) {
  KindSummary einsum = kind("einsum", 6, 3, "compute");
  einsum.slowest_rank = 1;
  einsum.fastest = Seconds(3);
  const Comparison comparison{.kinds = {gather(9, 1), einsum},
                              .measured = Seconds(15),
                              .predicted = Seconds(4),
                              .busiest = OtherWork::Node{.share = 0.25, .cores = 2}};
  EXPECT_TRUE(says(diagnosis(comparison, hardware(false)),
                   "rank 1 takes 2.00 times as long as the fastest rank for einsum: other work used its core, and the "
                   "others wait for it"))
      << diagnosis(comparison, hardware(false));
}

TEST(Diagnosis, OtherWorkThatExplainsNothingIsNotNamed) {
  EXPECT_FALSE(says(diagnosis_beside(0.04, 17, 2), "other work,"));  // a share too small to matter
  EXPECT_TRUE(says(diagnosis_beside(0.04, 17, 2), "the ranks' memory is slower"));
  EXPECT_FALSE(says(diagnosis_beside(0.48, 1, 1), "other work"));  // all as predicted
}

TEST(Busy, ALineFromAShareOnThatMatters) {
  EXPECT_EQ(busy_text(std::nullopt), "");
  EXPECT_EQ(busy_text(OtherWork::Node{.share = 0.0499, .cores = 2}), "");
  EXPECT_EQ(busy_text(OtherWork::Node{.share = 0.48, .cores = 2}),
            "The machine was busy with other work: 0.48 of its 2 cores' time went to others while this was measured; "
            "times may be longer than they would be alone.");
  EXPECT_EQ(busy_text(OtherWork::Node{.share = 0.05, .cores = 1, .nodes = 3, .rank = 6}),
            "The node of rank 6 was busy with other work: 0.05 of its core's time went to others while this was "
            "measured; times may be longer than they would be alone.");
}

/// A machine of 1 GFLOP/s that takes 1 us for every operation, and 10 us more for one that communicates.
roofline::Hardware slow_to_start() {
  roofline::Hardware hardware{
      .name = "m", .matmul = FlopsPerSecond(1e9), .memory = BytesPerSecond(1e9), .overhead = Seconds(1e-6)};
  hardware.links["X"] = {.latency = Seconds(1e-5), .bandwidth = BytesPerSecond(6e9)};
  return hardware;
}

/// A product of `flops` FLOPs on each of 4 ranks and a gather, each run ten times.
std::string diagnosis_of(double flops) {
  KindSummary einsum = kind("einsum", 1, 1, "compute");
  einsum.flops = Flops(10 * flops);
  const Comparison comparison{.kinds = {einsum, gather(0.1, 0.1)},
                              .runs = 10,
                              .ranks = 4,
                              .measured = Seconds(0.11),
                              .predicted = Seconds(0.11)};
  return diagnosis(comparison, slow_to_start());
}

TEST(Diagnosis, TooSmallToBeWorthDistributing) {
  const std::string text = diagnosis_of(72);
  EXPECT_TRUE(says(text,
                   " The work is too small to be worth distributing: one rank would compute its 288 FLOP in 288 ns at "
                   "the best rate of products, and starting the operations alone takes 12.0 us."))
      << text;
  EXPECT_FALSE(says(text, "more ranks")) << text;
  EXPECT_TRUE(says(diagnosis_of(2990), "too small"));  // 11.96 us on one rank
  EXPECT_FALSE(says(diagnosis_of(3010), "too small"));
  EXPECT_TRUE(says(diagnosis_of(3010), "more ranks"));
}

}  // namespace
}  // namespace shardline::tools
