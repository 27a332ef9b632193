// The arguments that `shardline bench` accepts, and its messages for all others.

#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tools/bench/bench_habits.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/bench_sizes.h"
#include "tools/bench/bench_timing.h"
#include "tools/output/text.h"

namespace shardline::tools {
namespace {

using collectives::Algorithm;
using collectives::Kind;

template <class Body>
std::string refusal(Body body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

BenchPlan plan(const BenchOptions& options, DType dtype = DType::f32) {
  return plan_bench(options, dtype, AbstractMesh({{"X", 2}, {"Y", 3}}));
}

BenchOptions with(std::vector<std::string> collectives, const std::string& algorithm = "auto,native") {
  BenchOptions options;
  options.collectives = std::move(collectives);
  options.algorithm = algorithm;
  return options;
}

TEST(BenchSizes, SuffixesArePowersOf1024) {
  EXPECT_EQ(parse_size("--bytes", "7"), 7);
  EXPECT_EQ(parse_size("--bytes", "3K"), 3072);
  EXPECT_EQ(parse_size("--bytes", "64M"), 67108864);
  EXPECT_EQ(parse_size("--bytes", "2G"), 2147483648);
  EXPECT_EQ(parse_size("--bytes", "8589934591G"), 9223372035781033984);
  for (const char* text : {"1K", "1k", "1Ki", "1ki", "1KiB", "1024B", "1024"}) EXPECT_EQ(parse_size("-b", text), 1024);
  EXPECT_EQ(parse_size("-e", "3m"), 3145728);
  EXPECT_EQ(parse_size("-e", "2GiB"), 2147483648);
  EXPECT_EQ(parse_size("--batch-tokens", "4Mi", "tokens"), 4194304);
  for (const char* text : {"", "K", "0", "-4", "1.5K", "1Kb", "1KIB", "1T", " 1", "1 K", "0x10", "8589934592G"}) {
    EXPECT_EQ(
        refusal([&] { parse_size("--segment", text); }),
        fmt::format("--segment: \"{}\" is not a size: a whole number of bytes, at least 1, or of K, M or G (1024, "
                    "1024^2, 1024^3)",
                    text));
  }
}

TEST(BenchSizes, WhatMayBeOfTwoSizesIsRefusedByALineThatNamesOne) {
  const auto bytes = [](const char* text) { return refusal([&] { parse_size("--bytes", text); }); };
  EXPECT_EQ(bytes("1KB"), "--bytes: \"1KB\" may mean powers of 1000 or of 1024; 1K is in powers of 1024");
  EXPECT_EQ(bytes("64kB"), "--bytes: \"64kB\" may mean powers of 1000 or of 1024; 64k is in powers of 1024");
  EXPECT_EQ(bytes("1GB"), "--bytes: \"1GB\" may mean powers of 1000 or of 1024; 1G is in powers of 1024");
  for (const char* text : {"4MB", "4MiB", "4B"}) {
    EXPECT_NE(
        refusal([&] { parse_size("--batch-tokens", text, "tokens"); }).find("is not a size: a whole number of tok"),
        std::string::npos)
        << text;
  }
}

TEST(BenchSizes, AsNcclTestsTakesThem) {
  BenchOptions options;
  options.least_bytes = "1k";
  options.most_bytes = "1m";
  EXPECT_EQ(plan(options).counts, (std::vector<Index>{256, 1024, 4096, 16384, 65536, 262144}));
  options.factor = "32";
  EXPECT_EQ(plan(options).counts, (std::vector<Index>{256, 8192, 262144}));
  options.least_bytes.clear();
  options.factor = "1024";
  EXPECT_EQ(plan(options).counts, (std::vector<Index>{256, 262144}));
  options.factor = "1";
  EXPECT_EQ(refusal([&] { plan(options); }), "-b 1K -e 1m -f 1: factor 1: sizes grow by a whole factor of at least 2");
  options.most_bytes = "12";
  EXPECT_EQ(refusal([&] { plan(options); }), "-b 1K -e 12 -f 1: the smallest size, 1K, is above the largest, 12");
  EXPECT_EQ(plan({}).timing.runs, std::nullopt);
  options = {};
  options.iters = "20";
  EXPECT_EQ(plan(options).timing.runs, 20);
  for (const char* text : {"0", "-1", "20k", "1000001", "x"}) {
    options.iters = text;
    EXPECT_EQ(refusal([&] { plan(options); }), fmt::format("--iters {}: a whole number from 1 to 1000000", text));
  }
}

TEST(BenchNames, OfOtherProgramsAreUnderstood) {
  const auto name = [](const std::string& text) { return collective_name(text); };
  for (const char* text : {"allreduce", "AllReduce", "all-reduce", "ALL_REDUCE", "all_reduce_perf", "MPI_Allreduce",
                           "osu_allreduce", "all_reduce"}) {
    EXPECT_EQ(name(text), "all_reduce") << text;
  }
  EXPECT_EQ(name("MPI_Allgather"), "all_gather");
  EXPECT_EQ(name("alltoall_perf"), "all_to_all");
  EXPECT_EQ(name("reducescatter"), "reduce_scatter");
  EXPECT_EQ(name("MPI_Reduce_scatter_block"), "reduce_scatter");
  EXPECT_EQ(name("Shift"), "shift");
  for (const char* text : {"", "perf", "mpi", "allgatherv", "Iallreduce", "reduce"}) EXPECT_EQ(name(text), text);
  EXPECT_EQ(plan(with({"AllGather"})).kinds[0].kind, Kind::all_gather);
  EXPECT_EQ(refusal([] { plan(with({"allreduce", "all_reduce"})); }), "collective all_reduce is given twice");
}

TEST(BenchTiming, SamplesAreRunsInARow) {
  EXPECT_EQ(runs_in_a_row(Seconds(1e-6), Seconds(0.3)), 1000);
  EXPECT_EQ(runs_in_a_row(Seconds(2e-3), Seconds(0.3)), 1);
  EXPECT_EQ(runs_in_a_row(Seconds(1e-6), Seconds(1e-4)), 20) << "a fifth of a short budget";
  EXPECT_EQ(runs_in_a_row(Seconds(0), Seconds(0.3)), 1000000);
  EXPECT_EQ(dealt_out(20, 4), (std::vector<Index>(5, 4)));
  EXPECT_EQ(dealt_out(7, 2), (std::vector<Index>{3, 2, 2}));
  EXPECT_EQ(dealt_out(3, 1000), (std::vector<Index>{3}));
  EXPECT_EQ(dealt_out(1, 1), (std::vector<Index>{1}));
}

TEST(BenchSizes, RangesGrowByAFactorAndFillWholeElements) {
  EXPECT_EQ(parse_byte_range("1K:64K", 4), (std::vector<Index>{256, 1024, 4096, 16384}));
  EXPECT_EQ(parse_byte_range("1K:64K:8", 1), (std::vector<Index>{1024, 8192, 65536}));
  EXPECT_EQ(parse_byte_range("10:100:3", 1), (std::vector<Index>{10, 30, 90}));
  EXPECT_EQ(parse_byte_range("5", 4), (std::vector<Index>{2}));
  EXPECT_EQ(parse_byte_range("1:16:2", 8), (std::vector<Index>{1, 2}));
  EXPECT_EQ(parse_byte_range("4611686018427387904:9223372036854775807:2", 1),
            (std::vector<Index>{4611686018427387904}));
}

TEST(BenchSizes, RefusalsSayWhatWasGiven) {
  const auto range = [](const std::string& text) { return refusal([&] { parse_byte_range(text, 4); }); };
  EXPECT_EQ(range("4K:1K"), "--bytes 4K:1K: the smallest size, 4K, is above the largest, 1K");
  EXPECT_EQ(range("4K:1K:2"), "--bytes 4K:1K:2: the smallest size, 4K, is above the largest, 1K");
  for (const char* factor : {"1", "0", "-2", "x", "1.5", ""}) {
    EXPECT_EQ(range(fmt::format("1:2:{}", factor)),
              fmt::format("--bytes 1:2:{0}: factor {0}: sizes grow by a whole factor of at least 2", factor));
  }
  EXPECT_EQ(range("1:2:3:4"), "--bytes 1:2:3:4: MIN, MIN:MAX or MIN:MAX:FACTOR, as in 1K:64M:4");
  EXPECT_NE(range("1K:"), "accepted");
  EXPECT_NE(range("0:4"), "accepted");
  EXPECT_EQ(parse_counts("1, 7,4096,0"), (std::vector<Index>{1, 7, 4096, 0}));
  EXPECT_EQ(refusal([] { parse_counts("3,-1"); }),
            "--counts 3,-1: \"-1\" is not a number of elements: whole, 0 or more, as in 1,7,4096");
  EXPECT_NE(refusal([] { parse_counts("3,,4"); }), "accepted");
}

TEST(BenchPlan, DefaultsAreTheFirstFourOverAllAxes) {
  const BenchPlan all = plan({});
  ASSERT_EQ(all.kinds.size(), 4U);
  EXPECT_EQ(all.kinds[3].kind, Kind::all_to_all);
  EXPECT_EQ(all.kinds[0].algorithms, (std::vector<Algorithm>{Algorithm::automatic, Algorithm::native}));
  EXPECT_EQ(all.axes, (Axes{"X", "Y"}));
  EXPECT_EQ(all.ranks, 6);
  EXPECT_TRUE(all.left_out.empty());
  BenchOptions turned;
  turned.axis = "Y, X";
  EXPECT_EQ(plan(turned).axes, (Axes{"Y", "X"}));
  turned.axis = "Y";
  EXPECT_EQ(plan(turned).ranks, 3);
  turned.counts = "5";
  EXPECT_EQ(plan(turned).counts, (std::vector<Index>{5}));
}

TEST(BenchPlan, RefusalsNameTheThing) {
  EXPECT_EQ(refusal([] { plan(with({"all_gathers"})); }),
            "collective 'all_gathers': there are all_gather, reduce_scatter, all_reduce, all_to_all and shift");
  EXPECT_EQ(refusal([] { plan(with({"shift", "shift"})); }), "collective shift is given twice");
  EXPECT_EQ(refusal([] { plan(with({}, "ring,rings")); }).substr(0, 31), "there is no algorithm 'rings'; ");
  EXPECT_EQ(refusal([] { plan(with({}, "ring,ring")); }), "--algorithm ring,ring: ring is given twice");
  const auto axis = [](const std::string& text) {
    BenchOptions options;
    options.axis = text;
    return refusal([&] { plan(options); });
  };
  EXPECT_EQ(axis("Z"), "--axis Z: there is no axis 'Z' in mesh {X:2, Y:3}");
  EXPECT_EQ(axis("X,X"), "--axis X,X: axis X is given twice");
  EXPECT_EQ(axis("X,"), "--axis X,: there is no axis '' in mesh {X:2, Y:3}");
  BenchOptions options;
  options.segment = "2G";
  EXPECT_EQ(refusal([&] { plan(options); }), "--segment 2G: from 1 byte to 1G");
  options = {};
  options.op = "avg";
  EXPECT_EQ(refusal([&] { plan(options, DType::i64); }), "--op avg: averages are of f32, f64 and bf16, not i64");
  options.op = "min";
  EXPECT_EQ(refusal([&] { plan(options); }), "--op 'min': there are sum, max and avg");
  options = with({"shift"});
  options.op = "max";
  EXPECT_EQ(refusal([&] { plan(options); }), "--op max: none of the collectives given reduces");
  options = {};
  options.wire = "hop";
  EXPECT_EQ(refusal([&] { plan(options); }), "--wire hop: only reductions of bf16 have a choice of wires");
}

TEST(BenchPlan, CombinationsThatThereAreNotAreLeftOutOrRefused) {
  EXPECT_EQ(refusal([] {
              plan(with({"all_gather", "shift"}, "doubling"));
            }),
            "shift has no algorithm doubling; it has auto, ring, direct and native");
  const BenchPlan some = plan(with({"all_gather", "shift"}, "doubling,ring"));
  EXPECT_EQ(some.kinds[0].algorithms, (std::vector<Algorithm>{Algorithm::doubling, Algorithm::ring}));
  EXPECT_EQ(some.kinds[1].algorithms, (std::vector<Algorithm>{Algorithm::ring}));
  EXPECT_EQ(some.left_out.size(), 1U);

  const std::string no_bf16 = "all_reduce by native has no bf16, which MPI does not know how to reduce";
  EXPECT_EQ(refusal([] { plan(with({"all_reduce"}, "native"), DType::bf16); }), no_bf16);
  EXPECT_EQ(plan(with({"all_reduce"}), DType::bf16).left_out, (std::vector<std::string>{no_bf16}));
  EXPECT_TRUE(plan(with({"all_gather"}, "native"), DType::bf16).left_out.empty());

  BenchOptions exchange = with({"all_reduce", "all_gather"}, "ring");
  exchange.wire = "exchange";
  EXPECT_EQ(refusal([&] { plan(exchange, DType::bf16); }),
            "all_reduce: algorithm ring reduces bf16 over the wires f32 and hop, not exchange");
  exchange.algorithm = "ring,pairwise";
  EXPECT_EQ(plan(exchange, DType::bf16).kinds[0].algorithms, (std::vector<Algorithm>{Algorithm::pairwise}));
  EXPECT_EQ(plan(exchange, DType::bf16).kinds[1].algorithms.size(), 2U);
}

TEST(Text, ListsAndParts) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}, "or"), "a or b");
  EXPECT_EQ(listed({"a", "b", "c"}), "a, b and c");
}

}  // namespace
}  // namespace shardline::tools
