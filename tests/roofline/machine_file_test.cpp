// The file of a machine: a written machine reads back equal, and every key has its documented meaning.

#include "roofline/machine/machine_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "roofline/machine/catalogue.h"
#include "tests/roofline/random_machines.h"
#include "tests/roofline/whole_machine.h"
#include "tests/runtime/message_of.h"

namespace shardline::roofline {
namespace {

using collectives::Algorithm;
using collectives::Kind;
using collectives::LinkKind;
using collectives::Tuning;
using Json = nlohmann::ordered_json;

TEST(MachineFile, EveryMachineComesBackBitByBit) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const Machine machine = RandomMachines(seed).next();
    const std::string text = machine_text(machine);
    const Machine read = parse_machine(text, "file");
    ASSERT_TRUE(read == machine) << text;
    ASSERT_EQ(machine_text(read), text);
    ASSERT_EQ(machine_hash(read), machine_hash(machine));
  }
}

TEST(MachineFile, MachinesThatAreKnownByNameComeBack) {
  const AbstractMesh mesh = AbstractMesh::parse("X=4,Y=2,Z=1");
  for (const Chip& chip : catalogue()) {
    const Machine machine = machine_of(chip, mesh);
    EXPECT_TRUE(parse_machine(machine_text(machine), chip.name) == machine) << chip.name;
  }
  const Machine cpu = cpu_machine(mesh, {"X"});
  EXPECT_TRUE(parse_machine(machine_text(cpu), "cpu") == cpu);
}

TEST(MachineFile, EveryKeyMeansWhatItSays) {
  const Machine machine = parse_machine(kWhole, "machine.json");
  Machine expected{.name = "two boxes"};
  expected.measured = {.host = "box1",
                       .date = "2026-01-31T12:00:00Z",
                       .mesh = "X=2,Y=4",
                       .nodes = 2,
                       .cores = 4,
                       .ranks_per_node = 4,
                       .threads_per_rank = 1,
                       .blas = "some BLAS",
                       .mpi = "some MPI",
                       .commit = "abc",
                       .busy_with_others = 0.25,
                       .unreliable = {"/resources/network/latency_s"}};
  std::vector<FlopsPerSecond> rates;
  for (const double rate : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5}) rates.emplace_back(rate);
  expected.compute[DType::f32] = {.peak = FlopsPerSecond(5e20),
                                  .gemm = GemmRates({64, 512}, rates),
                                  .library = kernels::GemmLibrary::onednn,
                                  .panels = 0.75,
                                  .kernels = {{"attention", FlopsPerSecond(2e9)}},
                                  .latencies = {{"attention", Seconds(5e-7)}, {"embed", Seconds(0)}}};
  expected.compute[DType::f64] = {FlopsPerSecond(2.5e10)};
  expected.memory = {.capacity = Bytes(8e9),
                     .read = BytesPerSecond(1.1e10),
                     .copy = BytesPerSecond(1.05e10),
                     .triad = BytesPerSecond(1e10),
                     .triad_allocating = BytesPerSecond(1.3e10),
                     .caches = Curve({{32000, 1e11}, {1e6, 4e10}})};
  expected.overhead = Seconds(1e-6);
  expected.contention = {.gemm = 0.9, .memory = 0.5};
  expected.resources["network"] = {ResourceKind::switched, Seconds(2e-5), BytesPerSecond(1.25e8),
                                   BytesPerSecond(2.5e8),  0.1,           0.25};
  expected.resources["node"] = {ResourceKind::shared_memory,
                                Seconds(1e-6),
                                BytesPerSecond(4e9),
                                BytesPerSecond(4e9),
                                0,
                                1,
                                SharedMemory{Seconds(5e-7), Curve({{1e6, 4e9}}), Curve({{1e6, 3e9}})}};
  expected.axes = {{"X", "network"}, {"Y", "node"}};
  expected.pcie = BytesPerSecond(1.5e10);
  expected.between_pods = BytesPerSecond(2.5e10);
  expected.tuning = Tuning{};
  expected.tuning->rules = {{Kind::all_gather, LinkKind::node, Tuning::kAny, 4096, Algorithm::doubling},
                            {Kind::shift, LinkKind::network, 8, Tuning::kAny, Algorithm::ring}};
  EXPECT_TRUE(machine == expected);
  EXPECT_EQ(machine_text(machine), kWhole);
}

TEST(MachineFile, WhatIsEmptyMayBeMissing) {
  const Machine machine = parse_machine(
      R"({"schema": "shardline.machine/1", "name": "m", "compute": {"f32": {"peak_flops_per_s": 1e9}},
          "memory": {"triad_bytes_per_s": 2e9}})",
      "machine.json");
  Machine expected{.name = "m", .memory = {.triad = BytesPerSecond(2e9)}};
  expected.compute[DType::f32] = {FlopsPerSecond(1e9)};
  EXPECT_TRUE(machine == expected);
}

TEST(MachineFile, HashesTellMachinesApartAndNotTheirFiles) {
  const Machine machine = parse_machine(kWhole, "a");
  EXPECT_EQ(machine_hash(parse_machine(Json::parse(kWhole).dump(), "b")), machine_hash(machine));
  EXPECT_EQ(machine_hash(parse_machine(nlohmann::json::parse(kWhole).dump(8), "c")), machine_hash(machine));
  Machine other = machine;
  other.resources["network"].latency = Seconds(std::nextafter(2e-5, 1));
  EXPECT_NE(machine_hash(other), machine_hash(machine));
  EXPECT_EQ(machine_hash(machine).size(), 16U);
}

TEST(MachineFile, DoesNotWriteWhatItWouldNotRead) {
  Machine machine = parse_machine(kWhole, "machine.json");
  machine.resources["node"].one_way = BytesPerSecond(std::nan(""));
  EXPECT_EQ(usage_message([&] { machine_text(machine); }),
            "machine two boxes: resources.node.bandwidth_one_way is null: a positive number");
  machine = parse_machine(kWhole, "machine.json");
  machine.measured.cores = 0;
  EXPECT_EQ(usage_message([&] { machine_text(machine); }),
            "machine two boxes: measured.cores is 0: a whole number from 1 to 2147483647");
}

}  // namespace
}  // namespace shardline::roofline
