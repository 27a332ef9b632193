// Prices of single calls and transfers, compared with the roofline worked out by hand.

#include "roofline/price/hardware.h"

#include <gtest/gtest.h>

#include <map>

#include "roofline/machine/machine.h"
#include "roofline/price/collective_cost.h"
#include "tests/runtime/message_of.h"

namespace shardline::roofline {
namespace {

Hardware simple() {
  Hardware hardware{
      .name = "simple", .matmul = FlopsPerSecond(1e9), .memory = BytesPerSecond(1e8), .overhead = Seconds(1e-3)};
  return hardware;
}

TEST(KernelPrice, IsTheLargerOfArithmeticAndMemory) {
  const Price math = kernel_price({.cost = {Flops(2e9), Bytes(1e8)}}, simple());
  EXPECT_DOUBLE_EQ(math.math.value, 2);
  EXPECT_DOUBLE_EQ(math.memory.value, 1);
  EXPECT_DOUBLE_EQ(math.time.value, 2.001);
  EXPECT_EQ(math.limiter, Limiter::compute);
  const Price memory = kernel_price({.cost = {Flops(5e8), Bytes(1e8)}}, simple());
  EXPECT_DOUBLE_EQ(memory.time.value, 1.001);
  EXPECT_EQ(memory.limiter, Limiter::memory);
  EXPECT_EQ(kernel_price({.cost = {Flops(10), Bytes(10)}}, simple()).limiter, Limiter::latency);
}

TEST(KernelPrice, OtherKernelsHaveTheirOwnCeiling) {
  Hardware hardware = simple();
  hardware.kernels["rope"] = FlopsPerSecond(1e6);
  EXPECT_DOUBLE_EQ(kernel_price({.cost = {Flops(2e6), Bytes(8)}, .kernel = "rope"}, hardware).math.value, 2);
  EXPECT_DOUBLE_EQ(kernel_price({.cost = {Flops(2e6), Bytes(8)}, .kernel = "gelu"}, hardware).math.value, 2e-3);
}

/// A latency counts for each part of a call. Products have a latency of their own.
TEST(KernelPrice, KernelsTakeTimeToStart) {
  Hardware hardware = simple();
  hardware.latencies = {{"attention", Seconds(2)}, {"einsum", Seconds(3)}, {std::string(kMatrixProduct), Seconds(5)}};
  const Work heads{.cost = {Flops(1e9), Bytes(8), 4}, .kernel = "attention"};
  EXPECT_DOUBLE_EQ(kernel_price(heads, hardware).time.value, 1e-3 + 4 * 2 + 1);
  EXPECT_EQ(kernel_price(heads, hardware).limiter, Limiter::latency);
  const Work product{.cost = {Flops(1e9), Bytes(8)}, .kernel = "einsum", .m = 10, .n = 10, .k = 10};
  EXPECT_DOUBLE_EQ(kernel_price(product, hardware).time.value, 1e-3 + 5 + 1);
  EXPECT_DOUBLE_EQ(kernel_price({.cost = product.cost, .kernel = "einsum"}, hardware).time.value, 1e-3 + 3 + 1);
}

/// A thin product has a rate and no copy, and starts as a product does.
TEST(KernelPrice, ThinProductsStartAsProducts) {
  Hardware hardware = simple();
  hardware.gemm = GemmRates({10}, {FlopsPerSecond(5e8)});
  hardware.products_copy = true;
  hardware.kernels[std::string(kThinProduct)] = FlopsPerSecond(2e9);
  hardware.latencies = {{std::string(kMatrixProduct), Seconds(5)}};
  const Price price = kernel_price({.cost = {Flops(8e9), Bytes(3e9)}, .kernel = kThinProduct}, hardware);
  EXPECT_DOUBLE_EQ(price.math.value, 4);
  EXPECT_DOUBLE_EQ(price.time.value, 1e-3 + 5 + 30) << "memory takes longer, and nothing is copied";
}

/// With a matrix of 1e9 elements from beyond the caches: 1, 2, 4 and 8 s for 1, 4, 8 and 16 rows, and evenly between.
TEST(KernelPrice, ThinProductsReadTheirMatrixFromMemory) {
  Hardware hardware = simple();
  hardware.kernels = {{"thin_product", FlopsPerSecond(1e12)},
                      {"thin_product_1", FlopsPerSecond(2e9)},
                      {"thin_product_4", FlopsPerSecond(4e9)},
                      {"thin_product_8", FlopsPerSecond(4e9)},
                      {"thin_product_16", FlopsPerSecond(4e9)}};
  const auto thin = [](Index rows, double reach) -> Work {
    return {.cost = {.flops = Flops(2e9 * static_cast<double>(rows)), .bytes = Bytes(4e9), .rows = rows},
            .kernel = kThinProduct,
            .touches = {{Bytes(4e9), Bytes(reach)}}};
  };
  for (const auto& [rows, seconds] : std::map<Index, double>{{1, 1}, {2, 4.0 / 3}, {4, 2}, {6, 3}, {8, 4}, {16, 8}}) {
    EXPECT_NEAR(kernel_price(thin(rows, 4e9), hardware).memory.value, seconds, 1e-12) << rows;
  }
  // A cache that is twice as fast as memory.
  hardware.caches = Curve({{1e6, 2e8}, {2e6, 1e8}});
  EXPECT_NEAR(kernel_price(thin(4, 1e6), hardware).memory.value, 1, 1e-12);
  EXPECT_NEAR(kernel_price(thin(4, 4e9), hardware).memory.value, 2, 1e-12);
  // Attention over a cache goes by queries of each key in the same way.
  hardware.kernels["cache_attention"] = FlopsPerSecond(1e12);
  for (const Index rows : kRowsFromMemory) hardware.kernels[from_memory("cache_attention", rows)] = FlopsPerSecond(1e9);
  Work attention = thin(4, 4e9);
  attention.kernel = "cache_attention";
  EXPECT_NEAR(kernel_price(attention, hardware).memory.value, 8, 1e-12);
  // A machine for which that was not measured goes by bytes.
  hardware.kernels.erase("thin_product_8");
  EXPECT_NEAR(kernel_price(thin(8, 4e9), hardware).memory.value, 40, 1e-12);
}

TEST(KernelPrice, ProductsGoByTheirExtents) {
  Hardware hardware = simple();
  hardware.gemm = GemmRates({10}, {FlopsPerSecond(5e8)});
  const Work product{.cost = {Flops(1e9), Bytes(8)}, .kernel = "einsum", .m = 100, .n = 100, .k = 100};
  EXPECT_DOUBLE_EQ(kernel_price(product, hardware).math.value, 2);
  EXPECT_DOUBLE_EQ(kernel_price({.cost = {Flops(1e9), Bytes(8)}, .kernel = "einsum"}, hardware).math.value, 1);
}

/// If products copy their operands first, both times count. Otherwise, and for other kernels, the longer
/// counts.
TEST(KernelPrice, ProductsThatCopyTheirOperands) {
  Hardware hardware = simple();
  const Work thin{.cost = {Flops(2e9), Bytes(1e8)}, .kernel = "einsum", .m = 1000, .n = 4, .k = 1000};
  EXPECT_DOUBLE_EQ(kernel_price(thin, hardware).time.value, 1e-3 + 2);
  hardware.products_copy = true;
  EXPECT_DOUBLE_EQ(kernel_price(thin, hardware).time.value, 1e-3 + 2 + 1);
  EXPECT_DOUBLE_EQ(kernel_price({.cost = thin.cost, .kernel = "add"}, hardware).time.value, 1e-3 + 2);
}

/// A rate measured with operands in the caches holds for such operands. For operands in memory the difference
/// is added. The grid's extents reach 100: of 1000 x 2 x 1000 it counts 10400 of 1004000 elements.
TEST(KernelPrice, OperandsBeyondTheCachesOfTheGrid) {
  Hardware hardware = simple();
  hardware.gemm = GemmRates({2, 100}, std::vector<FlopsPerSecond>(8, FlopsPerSecond(1e9)));
  hardware.caches = Curve({{1e5, 4e8}, {1e6, 1e8}});
  const double bytes = 4 * 1004000;
  const auto price = [&](double reach) {
    return kernel_price({.cost = {Flops(2e9), Bytes(bytes)},
                         .kernel = "einsum",
                         .m = 1000,
                         .n = 2,
                         .k = 1000,
                         .touches = {{Bytes(bytes), Bytes(reach)}}},
                        hardware)
        .time.value;
  };
  EXPECT_NEAR(price(1e4), 1e-3 + 2, 1e-12);
  EXPECT_NEAR(price(bytes), 1e-3 + 2 + bytes / 1e8 - bytes / 4e8, 1e-12);
}

/// An operand in the caches is read at their rate, another operand at the rate of memory.
TEST(KernelPrice, ReachDecidesWhereOperandsAre) {
  Hardware hardware = simple();
  hardware.caches = Curve({{1e3, 1e10}, {1e6, 1e10}, {1e7, 1e8}});
  const auto price = [&](const std::vector<Touch>& touches) {
    return kernel_price({.cost = {Flops(0), Bytes(4e5)}, .touches = touches}, hardware).memory.value;
  };
  EXPECT_NEAR(price({{Bytes(2e5), Bytes(4e5)}, {Bytes(2e5), Bytes(4e5)}}), 4e5 / 1e10, 1e-12);
  EXPECT_NEAR(price({{Bytes(2e5), Bytes(1e8)}, {Bytes(2e5), Bytes(4e5)}}), 2e5 / 1e8 + 2e5 / 1e10, 1e-12);
  EXPECT_NEAR(price({}), 4e5 / 1e10, 1e-12);
  // Reads a quarter of a table.
  EXPECT_NEAR(price({{Bytes(1.6e6), Bytes(1e8)}}), 4e5 / 1e8, 1e-12);
}

Hardware sharing() {
  Hardware hardware = simple();
  const SharedMemory memory{Seconds(1e-2), Curve({{1, 1e6}}), Curve({{1, 5e5}})};
  hardware.links["X"] = {.latency = Seconds(1), .bandwidth = BytesPerSecond(1), .frees_cores = false, .shared = memory};
  return hardware;
}

TEST(SharedPrice, CopiesAndAdds) {
  const Hardware hardware = sharing();
  // A rank reads and writes its kept bytes in its own memory. The bytes that it would send do not matter.
  const Collective gather{.ranks = {4}, .sent = Bytes(9e6), .received = Bytes(3e6), .kept = Bytes(1e6)};
  EXPECT_NEAR(collective_price(gather, {"X"}, hardware).time.value, 1e-3 + 1e-2 + 3 + 2e6 / 1e8, 1e-9);
  const Collective reduction{.ranks = {4}, .received = Bytes(6e6), .added = Bytes(3e6), .rounds = 2};
  EXPECT_NEAR(collective_price(reduction, {"X"}, hardware).time.value, 1e-3 + 2e-2 + 3 + 6, 1e-9);
  EXPECT_NEAR(collective_price(reduction, {"X"}, hardware).comms.value, 1e-3 + 2e-2 + 3 + 6, 1e-9);
}

/// A small all_reduce reads the arrays of all others in one round.
TEST(SharedPrice, OnePass) {
  Hardware hardware = sharing();
  hardware.tuning.one_pass_bytes_of_two = 1000;
  hardware.tuning.one_pass_bytes_of_more = 100;
  const auto time = [&](double bytes, Index ranks) {
    const auto p = static_cast<double>(ranks);
    const Bytes added(bytes * (p - 1) / p);
    const Reading reading =
        reading_of({.ranks = {ranks}, .received = 2 * added, .added = added, .rounds = 2}, hardware);
    return shared_price(reading, {"X"}, hardware).time.value - 1e-3;
  };
  EXPECT_NEAR(time(999, 2), 1e-2 + 999 / 5e5, 1e-12);
  EXPECT_NEAR(time(1000, 2), 2e-2 + 500 / 5e5 + 500 / 1e6, 1e-12);
  EXPECT_NEAR(time(99, 4), 1e-2 + 3 * 99 / 5e5, 1e-12);
  EXPECT_NEAR(time(400, 4), 2e-2 + 300 / 5e5 + 300 / 1e6, 1e-12);
}

/// Data that did not change since the last read comes faster.
TEST(SharedPrice, TheSameAgain) {
  Hardware hardware = sharing();
  hardware.links["X"].shared->copy_again = Curve({{1, 1e7}});
  hardware.links["X"].shared->add_again = Curve({{1, 5e6}});
  const auto time = [&](const Reading& reading) { return shared_price(reading, {"X"}, hardware).time.value - 1e-3; };
  EXPECT_NEAR(time({.copied = Bytes(3e6), .again = true}), 1e-2 + 0.3, 1e-9);
  EXPECT_NEAR(time({.added = Bytes(3e6), .again = true}), 1e-2 + 0.6, 1e-9);
  EXPECT_NEAR(time({.copied = Bytes(3e6), .added = Bytes(3e6), .rounds = 2, .again = true}), 2e-2 + 0.3 + 0.6, 1e-9);
  EXPECT_NEAR(time({.copied = Bytes(3e6)}), 1e-2 + 3, 1e-9);
}

TEST(SharedPrice, MessagesGoTheirOwnWay) {
  const Hardware hardware = sharing();
  const Collective by_messages{.ranks = {2}, .sent = Bytes(5), .added = Bytes(1e8), .by_messages = true};
  EXPECT_NEAR(collective_price(by_messages, {"X"}, hardware).time.value, 1e-3 + 1 + 5 + 3, 1e-9);
}

/// A packed array and a kept one, each read and written. If links free the cores, the copy of the kept array
/// runs beside the wire, for as long as the wire takes.
TEST(TransferPrice, WhatIsKeptGoesBesideTheWire) {
  Hardware hardware = simple();
  hardware.links["X"] = {.latency = Seconds(1), .bandwidth = BytesPerSecond(1e6), .frees_cores = false};
  const auto price = [&](double kept) {
    const Collective gather{.ranks = {2}, .sent = Bytes(3e6), .kept = Bytes(kept), .packed = Bytes(5e7)};
    return collective_price(gather, {"X"}, hardware);
  };
  EXPECT_NEAR(price(1e8).time.value, 1e-3 + 1 + 3 + 1 + 2, 1e-9);
  hardware.links["X"].frees_cores = true;
  EXPECT_NEAR(price(1e8).time.value, 1e-3 + 1 + 3 + 1, 1e-9);
  EXPECT_NEAR(price(2e8).time.value, 1e-3 + 1 + 3 + 1 + 1, 1e-9);
}

Machine machine() {
  Machine machine{.name = "m"};
  machine.compute[DType::f32] = {FlopsPerSecond(7)};
  machine.memory.triad = BytesPerSecond(11);
  machine.resources["wire"] = {.kind = ResourceKind::ring,
                               .latency = Seconds(1),
                               .one_way = BytesPerSecond(10),
                               .both_ways = BytesPerSecond(15)};
  machine.axes = {{"X", "wire"}, {"Y", "wire"}};
  return machine;
}

TEST(MachineView, RingsGoBothWaysWithMoreThanTwo) {
  const Hardware hardware = hardware_of(machine(), AbstractMesh::parse("X=2,Y=4"), DType::f32);
  EXPECT_EQ(hardware.matmul, FlopsPerSecond(7));
  EXPECT_EQ(hardware.memory, BytesPerSecond(11));
  EXPECT_FALSE(hardware.link("X").two_way);
  EXPECT_TRUE(hardware.link("Y").two_way);
  EXPECT_EQ(hardware.link("X").resource, hardware.link("Y").resource);
  // Two hops; 30 of 40 bytes at the rate of both directions together, which is less than twice one direction.
  const Collective gather{.ranks = {4}, .sent = Bytes(30)};
  EXPECT_NEAR(collective_price(gather, {"Y"}, hardware).time.value, 2 + 2, 1e-12);
}

/// 5 rows over 4 ranks: the first rank has two. By a switch it sends them to 3 others. On a ring it passes on 4
/// rows.
TEST(TransferPrice, UnevenPiecesRoundARing) {
  const Collective gather{.ranks = {4}, .sent = Bytes(60), .received = Bytes(40)};
  const Hardware ring = hardware_of(machine(), AbstractMesh::parse("Y=4"), DType::f32);
  EXPECT_NEAR(collective_price(gather, {"Y"}, ring).time.value, 2 + 40 / 15.0, 1e-12);
  Machine switched = machine();
  switched.resources["wire"].kind = ResourceKind::switched;
  const Hardware hub = hardware_of(switched, AbstractMesh::parse("Y=4"), DType::f32);
  EXPECT_NEAR(collective_price(gather, {"Y"}, hub).time.value, 3 + 60 / 10.0, 1e-12);
}

TEST(MachineView, NamesWhatIsMissing) {
  EXPECT_EQ(usage_message([] { hardware_of(machine(), AbstractMesh::parse("Z=2"), DType::f32); }),
            "machine m has no link for axis Z; it has links for X, Y");
  EXPECT_EQ(usage_message([] { hardware_of(machine(), AbstractMesh::parse("X=2"), DType::f64); }),
            "machine m has no figures for f64; it has f32");
  EXPECT_EQ(hardware_of(machine(), AbstractMesh::parse("Z=1"), DType::bf16).matmul, FlopsPerSecond(7));
  Machine loose = machine();
  loose.axes["X"] = "rope";
  EXPECT_EQ(usage_message([&] { hardware_of(loose, AbstractMesh::parse("X=2"), DType::f32); }),
            "machine m: axis X uses the resource \"rope\", which is not there");
}

}  // namespace
}  // namespace shardline::roofline
