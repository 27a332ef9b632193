// Compares the catalogue's machines and their prices of collectives with figures that the book works out by
// hand.

#include "roofline/machine/catalogue.h"

#include <gtest/gtest.h>

#include "roofline/price/collective_cost.h"
#include "tests/runtime/message_of.h"

namespace shardline::roofline {
namespace {

Hardware on(const std::string& name, const std::string& mesh) {
  return hardware_named(name, AbstractMesh::parse(mesh), DType::bf16);
}

/// Time of gathering an array of `bytes` over axes of these sizes.
double gather(const Hardware& hardware, double bytes, const Axes& axes, const std::vector<Index>& ranks) {
  double all = 1;
  for (const Index size : ranks) all *= static_cast<double>(size);
  return collective_price({.ranks = ranks, .sent = Bytes(bytes * (1 - 1 / all))}, axes, hardware).time.value;
}

constexpr double kHop = 1e-6;

/// Book section 3.2: v5e wraps only at 16. So an axis of 4 is a line of 3 hops that carry 8.4 MB each at 4.5e10
/// bytes/s.
TEST(Catalogue, GatherOnALine) {
  const Hardware v5e = on("v5e", "X=8,Y=4");
  EXPECT_NEAR(gather(v5e, 2.0 * 2048 * 8192, {"Y"}, {4}), 3 * (2.0 * 512 * 8192) / 4.5e10 + 3 * kHop, 1e-9);
  EXPECT_NEAR(gather(v5e, 0, {"Y"}, {4}), 3 * kHop, 1e-15);
}

/// Book exercises 3.2 and 3.3. v4p wraps at multiples of 4: both directions, two hops. Two axes have twice the
/// bandwidth. The book takes V / W; a ring of 4 moves three quarters of V.
TEST(Catalogue, GatherOnRings) {
  const Hardware v4p = on("v4p", "X=4,Y=4,Z=4");
  const double bytes = 2.0 * 1024 * 4096;
  EXPECT_NEAR(gather(v4p, bytes / 4, {"X"}, {4}), 23.3e-6 * 3 / 4 + 2 * kHop, 0.1e-6);
  EXPECT_NEAR(gather(v4p, bytes, {"X", "Y"}, {4, 4}), 46.6e-6 * 15 / 16 + 4 * kHop, 0.1e-6);
  const Collective reduction{.ranks = {4}, .sent = Bytes(2 * bytes / 16 * 3 / 4), .rounds = 2};
  EXPECT_NEAR(collective_price(reduction, {"Z"}, v4p).time.value, 11.65e-6 * 3 / 4 + 4 * kHop, 0.1e-6);
  EXPECT_NEAR(gather(v4p, 0, {"X"}, {4}), 2 * kHop, 1e-15);
}

/// A mesh axis over two torus axes moves as much as two mesh axes together, each on one torus axis.
TEST(Catalogue, AMeshAxisOverSeveralTorusAxes) {
  const Hardware apart = on("v5p", "A=8,B=4,Y=4");
  const AbstractMesh mesh = AbstractMesh::parse("X=32,Y=4");
  const Hardware laid = hardware_of(*find_chip("v5p"), mesh, {{"X", {8, 1, 4}}, {"Y", {4}}}, DType::bf16);
  for (const bool scatters : {false, true}) {
    const auto price = [&](const Hardware& hardware, const Axes& axes, const std::vector<Index>& ranks) {
      return collective_price({.ranks = ranks, .sent = Bytes(1e9), .scatters = scatters}, axes, hardware).time.value;
    };
    EXPECT_DOUBLE_EQ(price(laid, {"X"}, {32}), price(apart, {"A", "B"}, {8, 4}));
    EXPECT_DOUBLE_EQ(price(laid, {"X", "Y"}, {32, 4}), price(apart, {"A", "B", "Y"}, {8, 4, 4}));
    EXPECT_DOUBLE_EQ(price(laid, {"Y"}, {4}), price(apart, {"Y"}, {4}));
    EXPECT_EQ(laid.link("X").all_ways(), BytesPerSecond(3.6e11));
    EXPECT_EQ(laid.link("Y").all_ways(), BytesPerSecond(1.8e11));
  }
  // Two mesh axes on the same two torus axes: together they move what one axis over both does. Alone, the major one has
  // one whole ring and half of the other.
  const AbstractMesh two = AbstractMesh::parse("X=64,C=2,Y=4");
  const Hardware shared = hardware_of(*find_chip("v5p"), two, {{"X", {16, 8}}, {"Y", {4}}}, DType::bf16);
  const AbstractMesh one = AbstractMesh::parse("X=128,Y=4");
  const Hardware whole = hardware_of(*find_chip("v5p"), one, {{"X", {16, 8}}, {"Y", {4}}}, DType::bf16);
  EXPECT_DOUBLE_EQ(gather(shared, 1e9, {"X", "C"}, {64, 2}), gather(whole, 1e9, {"X"}, {128}));
  EXPECT_EQ(shared.link("X").all_ways(), BytesPerSecond(2.7e11));
  EXPECT_EQ(shared.link("C").all_ways(), BytesPerSecond(9e10));
  // 6 does not wrap on v5p. So one torus axis has half the bandwidth and all 5 steps from end to end.
  const Hardware line = hardware_of(*find_chip("v5p"), AbstractMesh::parse("X=384"), {{"X", {6, 4, 16}}}, DType::bf16);
  EXPECT_NEAR(gather(line, 4.5e11, {"X"}, {384}), 383.0 / 384 + (5 + 2 + 8) * kHop, 1e-9);
  // 4 wraps, but not in a slice without full cubes.
  const Hardware flat = hardware_of(*find_chip("v5p"), AbstractMesh::parse("X=16"), {{"X", {4, 4}}}, DType::bf16);
  EXPECT_NEAR(gather(flat, 1.8e11, {"X"}, {16}), 15.0 / 16 + (3 + 3) * kHop, 1e-9);
  EXPECT_EQ(flat.link("X").all_ways(), BytesPerSecond(1.8e11));
  EXPECT_EQ(usage_message([&] {
              hardware_of(*find_chip("v5p"), mesh, {{"X", {8, 8}}}, DType::bf16);
            }),
            "mesh axis X has 32 chips, its torus axes 8x8 have 64");
  EXPECT_EQ(usage_message([&] {
              hardware_of(*find_chip("v5p"), two, {{"X", {16, 2}}, {"Y", {4}}}, DType::bf16);
            }),
            "mesh axis X has 64 chips, its torus axes 16x2 have 32");
  EXPECT_EQ(hardware_of(*find_chip("h100"), mesh, {{"X", {8, 4}}}, DType::bf16).link("X").sides.size(), 0U);
}

/// Two pods of 32 chips: first the array's part of a pod goes between the pods, then each pod gathers inside.
TEST(Catalogue, SwitchesBetweenTori) {
  Hardware pods = on("v5p", "X=32");
  pods.links["Z"] = {.latency = Seconds(kHop), .bandwidth = BytesPerSecond(6.25e9), .switched = true};
  const double bytes = 1e11;
  const double between = bytes / 32 * (1.0 / 2) / 6.25e9 + kHop;
  const double within = bytes * (31.0 / 32) / 1.8e11 + 16 * kHop;
  EXPECT_NEAR(gather(pods, bytes, {"Z", "X"}, {2, 32}), between + within, 1e-9);
  const Collective reduction{.ranks = {2, 32}, .sent = Bytes(2 * bytes * 63 / 64), .rounds = 2};
  EXPECT_NEAR(collective_price(reduction, {"Z", "X"}, pods).time.value, 2 * (between + within), 1e-9);
}

/// Book exercise 3.10: p / (4 (p - 1)) of an AllGather in both directions, for even p.
TEST(Catalogue, AllToAllTakesAQuarter) {
  for (const Index p : {4, 8, 16, 28}) {
    const Hardware ring = on("v5p", "X=" + std::to_string(p));
    const double bytes = 1e12;
    const double held = bytes / static_cast<double>(p);
    const Collective all_to_all{.ranks = {p}, .sent = Bytes(held * (1 - 1 / static_cast<double>(p))), .scatters = true};
    const double ratio = collective_price(all_to_all, {"X"}, ring).time.value / gather(ring, bytes, {"X"}, {p});
    EXPECT_NEAR(ratio, static_cast<double>(p) / (4.0 * static_cast<double>(p - 1)), 1e-4);
  }
}

Hardware in_limit(const std::string& name, const std::string& mesh) {
  Hardware hardware = on(name, mesh);
  hardware.cost_mode = CostMode::book_limit;
  return hardware;
}

/// Book section 3.2 and exercises 3.2 and 3.3, with the book's rules: V / W on rings, all hops on a line, and
/// the longer of latency and bandwidth.
TEST(BookLimit, Gathers) {
  const Hardware v5e = in_limit("v5e", "X=16,Y=4");
  const double large = 2.0 * 2048 * 8192;
  EXPECT_NEAR(gather(v5e, large, {"X"}, {16}), large / 9e10, 1e-12);
  EXPECT_NEAR(gather(v5e, large, {"Y"}, {4}), 3 * (large / 4) / 4.5e10, 1e-12);
  EXPECT_NEAR(gather(v5e, large, {"X", "Y"}, {16, 4}), large / (9e10 + 4.5e10), 1e-12);
  EXPECT_DOUBLE_EQ(gather(v5e, 2.0 * 256 * 256, {"Y"}, {4}), 3 * kHop);
  const Hardware v4p = in_limit("v4p", "X=4,Y=4,Z=4");
  EXPECT_NEAR(gather(v4p, 2.0 * 1024 * 4096 / 4, {"X"}, {4}), 23.3e-6, 0.05e-6);
  EXPECT_NEAR(gather(v4p, 2.0 * 1024 * 4096, {"X", "Y"}, {4, 4}), 46.6e-6, 0.05e-6);
  EXPECT_NEAR(gather(v4p, 2.0 * 128, {"X"}, {4}), 2 * kHop, 1e-15);
}

TEST(BookLimit, ReductionsTakeTwice) {
  const Hardware v4p = in_limit("v4p", "X=4,Y=4,Z=4");
  const double bytes = 2.0 * 1024 * 4096 / 16;
  const Collective reduction{.ranks = {4}, .sent = Bytes(2 * bytes * 3 / 4), .rounds = 2};
  EXPECT_NEAR(collective_price(reduction, {"Z"}, v4p).time.value, 2 * bytes / 9e10, 1e-15);
  const Collective nothing{.ranks = {4}, .rounds = 2};
  EXPECT_NEAR(collective_price(nothing, {"Z"}, v4p).time.value, 4 * kHop, 1e-15);
}

TEST(BookLimit, SwitchesCarryTheWhole) {
  EXPECT_NEAR(gather(in_limit("h100", "X=8"), 9e10, {"X"}, {8}), 9e10 / 4.5e11, 1e-12);
  EXPECT_NEAR(gather(on("h100", "X=8"), 9e10, {"X"}, {8}), 9e10 * 7 / 8 / 4.5e11 + 7 * kHop, 1e-12);
}

/// Book exercise 3.10: a quarter of a gather for every size of the ring. Exact prices give p / (4 (p - 1)).
TEST(BookLimit, AllToAllTakesAQuarter) {
  for (const Index p : {3, 4, 7, 8, 16, 28}) {
    Hardware ring = in_limit("v5p", "X=" + std::to_string(p));
    ring.links.at("X").two_way = true;
    const double bytes = 1e12;
    const double held = bytes / static_cast<double>(p);
    const Collective all_to_all{.ranks = {p}, .sent = Bytes(held * (1 - 1 / static_cast<double>(p))), .scatters = true};
    const Collective all_gather{.ranks = {p}, .sent = Bytes(bytes - held)};
    ring.links.at("X").both_ways = 2 * ring.links.at("X").bandwidth;
    const double gathered = collective_price(all_gather, {"X"}, ring).time.value;
    EXPECT_DOUBLE_EQ(collective_price(all_to_all, {"X"}, ring).time.value / gathered, 0.25) << p;
    EXPECT_NEAR(gathered, bytes / 1.8e11, 1e-9) << p;
  }
}

/// The longer part binds. Packing and adding in memory overlap if they are shorter.
TEST(BookLimit, TakesTheLongestPart) {
  const Hardware v5e = in_limit("v5e", "X=16");
  const auto price = [&](double sent, double added) {
    return collective_price({.ranks = {16}, .sent = Bytes(sent), .added = Bytes(added)}, {"X"}, v5e);
  };
  const Price link = price(15e9, 15e9);
  EXPECT_EQ(link.limiter, Limiter::link);
  EXPECT_NEAR(link.time.value, 16e9 / 9e10, 1e-12);
  EXPECT_NEAR(link.memory.value, 45e9 / 8.1e11, 1e-12);
  EXPECT_EQ(link.comms, link.time);
  EXPECT_NEAR(price(15, 15e9).time.value, 45e9 / 8.1e11, 1e-12);
  EXPECT_NEAR(price(15, 15e9).comms.value, 8 * kHop, 1e-15);
}

TEST(Catalogue, ARingOfTwoHasOneLink) {
  Hardware ring = on("v5p", "X=2");
  EXPECT_FALSE(ring.link("X").two_way);
  EXPECT_NEAR(gather(ring, 9e10, {"X"}, {2}), 0.5 + kHop, 1e-9);
}

TEST(Catalogue, WhichAxesWrap) {
  const auto wraps = [](const std::string& chip, const std::string& mesh) { return on(chip, mesh).link("X").two_way; };
  EXPECT_TRUE(wraps("v5e", "X=16"));
  EXPECT_FALSE(wraps("v5e", "X=8"));
  EXPECT_FALSE(wraps("v6e", "X=32"));
  EXPECT_TRUE(wraps("v6e", "X=16"));
  EXPECT_TRUE(wraps("v5p", "X=20"));
  EXPECT_FALSE(wraps("v5p", "X=6"));
  EXPECT_TRUE(wraps("v4p", "X=4"));
  EXPECT_TRUE(wraps("v3", "X=32"));
}

TEST(Catalogue, ChipsOnASwitchShareIt) {
  const Hardware h100 = on("h100", "X=2,Y=4");
  EXPECT_TRUE(h100.link("X").switched);
  EXPECT_EQ(h100.link("X").resource, h100.link("Y").resource);
  EXPECT_NE(on("v5e", "X=2,Y=4").link("X").switched, true);
  EXPECT_NE(on("v5e", "X=2,Y=4").link("X").resource, on("v5e", "X=2,Y=4").link("Y").resource);
}

TEST(Catalogue, RanksOfANodeMoveWithTheirCores) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=4,Z=1");
  const Hardware cpu = hardware_named("cpu", mesh, DType::f32, {"X"});
  EXPECT_TRUE(cpu.link("X").frees_cores);
  EXPECT_FALSE(cpu.link("Y").frees_cores);
  EXPECT_EQ(cpu.links.count("Z"), 0U);  // one rank: moves nothing
}

/// Book exercise 2.2: hosts of whole pods.
TEST(Catalogue, HostsAndWhatJoinsThem) {
  const auto hosts = [](const Chip& each) { return each.most_chips / each.chips_per_host; };
  EXPECT_EQ(hosts(chip_named("v5e")), 32);
  EXPECT_EQ(hosts(chip_named("v5p")), 2240);
  EXPECT_EQ(chip_named("v5e").cores * chip_named("v5e").most_chips, 256);
  EXPECT_EQ(chip_named("v5p").cores * chip_named("v5p").most_chips, 17920);
  // Book section 5.1.6: FLOPs per byte between pods.
  const Chip& v5p = chip_named("v5p");
  const double leaving = static_cast<double>(hosts(v5p)) * v5p.between_pods.value;
  EXPECT_NEAR(static_cast<double>(v5p.most_chips) * v5p.matmul.value / leaving, 73440, 1);
  // Book section 1.2: the batch size at which int8 becomes compute-bound. Book section 2.3: later generations
  // compute int8 twice as fast.
  EXPECT_NEAR(chip_named("v5e").int8.value / 2 / chip_named("v5e").memory.value, 243.2, 0.1);
  for (const char* name : {"v3", "v4p"}) EXPECT_EQ(chip_named(name).int8, chip_named(name).matmul);
  for (const char* name : {"v5p", "v5e", "v6e"}) EXPECT_EQ(chip_named(name).int8, 2 * chip_named(name).matmul);
  for (const char* name : {"v3", "v4p", "v5p", "v5e"}) EXPECT_EQ(chip_named(name).pcie.value, 1.5e10);
  for (const Chip& each : catalogue()) {
    const Machine machine = machine_of(each, AbstractMesh::parse("X=4"));
    EXPECT_EQ(machine.pcie, each.pcie);
    EXPECT_EQ(machine.between_pods, each.between_pods);
  }
  EXPECT_EQ(chip_named("v6e").pcie.value, 3.2e10);
  EXPECT_EQ(chip_named("h100").pcie.value, 0);  // the book gives no value
}

TEST(Catalogue, NamesAndReservations) {
  EXPECT_EQ(usage_message([] { on("v9", "X=2"); }),
            "hardware \"v9\" is not known; nearest are v3, v4p, v5p; there are v3, v4p, v5p, v5e, v6e, h100, cpu");
  EXPECT_TRUE(reservations("v5e", AbstractMesh::parse("X=16,Y=16,Z=1")).empty());
  EXPECT_EQ(reservations("v5e", AbstractMesh::parse("X=16,Y=16,Z=2")).size(), 2U);
  EXPECT_EQ(reservations("h100", AbstractMesh::parse("X=16")).size(), 1U);
  EXPECT_TRUE(reservations("cpu", AbstractMesh::parse("X=4096")).empty());
}

}  // namespace
}  // namespace shardline::roofline
