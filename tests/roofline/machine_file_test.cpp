// The file of a machine: what is written comes back, and what is wrong with one is said in a line that names the place.

#include "roofline/machine/machine_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "roofline/machine/catalogue.h"
#include "tests/roofline/random_machines.h"
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

/// What a person would write by hand, every key there is.
const char* const kWhole = R"({
  "schema": "shardline.machine/1",
  "name": "two boxes",
  "measured": {
    "host": "box1",
    "date": "2026-01-31T12:00:00Z",
    "mesh": "X=2,Y=4",
    "nodes": 2,
    "cores": 4,
    "ranks_per_node": 4,
    "threads_per_rank": 1,
    "blas": "some BLAS",
    "mpi": "some MPI",
    "commit": "abc",
    "busy_with_others": 0.25,
    "unreliable": [
      "/resources/network/latency_s"
    ]
  },
  "compute": {
    "f32": {
      "peak_flops_per_s": 5e+20,
      "gemm": {
        "sizes": [
          64, 512
        ],
        "flops_per_s": [
          1, 2, 3, 4, 5, 6, 7, 8.5
        ]
      },
      "kernels": {
        "attention": 2000000000
      }
    },
    "f64": {
      "peak_flops_per_s": 25000000000
    }
  },
  "memory": {
    "capacity_bytes": 8000000000,
    "read_bytes_per_s": 11000000000,
    "copy_bytes_per_s": 10500000000,
    "triad_bytes_per_s": 10000000000,
    "triad_allocating_bytes_per_s": 13000000000,
    "caches": [
      {"bytes": 32000, "bytes_per_s": 100000000000},
      {"bytes": 1000000, "bytes_per_s": 40000000000}
    ]
  },
  "overhead_s": 1e-06,
  "contention": {
    "gemm": 0.9,
    "memory": 0.5
  },
  "resources": {
    "network": {
      "kind": "switch",
      "latency_s": 2e-05,
      "bandwidth_one_way": 125000000,
      "bandwidth_two_way": 250000000,
      "residual": 0.1,
      "core_share": 0.25
    },
    "node": {
      "kind": "shared_memory",
      "latency_s": 1e-06,
      "bandwidth_one_way": 4000000000,
      "bandwidth_two_way": 4000000000,
      "residual": 0,
      "core_share": 1,
      "shared": {
        "latency_s": 5e-07,
        "copy": [
          {"bytes": 1000000, "bytes_per_s": 4000000000}
        ],
        "add": [
          {"bytes": 1000000, "bytes_per_s": 3000000000}
        ]
      }
    }
  },
  "axes": {
    "X": "network",
    "Y": "node"
  },
  "pcie_bytes_per_s": 15000000000,
  "between_pods_bytes_per_s": 25000000000,
  "bf16_wire": "exchange",
  "tuning": {
    "rules": [
      {"kind": "all_gather", "link": "node", "most_ranks": null, "most_bytes": 4096, "algorithm": "doubling"},
      {"kind": "shift", "link": "network", "most_ranks": 8, "most_bytes": null, "algorithm": "ring"}
    ],
    "node_segment_bytes": 524288,
    "network_segment_bytes": 262144,
    "one_pass_bytes_of_two": 1048576,
    "one_pass_bytes_of_more": 8192
  }
}
)";

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
  expected.compute[DType::f32] = {
      FlopsPerSecond(5e20), GemmRates({64, 512}, rates), {{"attention", FlopsPerSecond(2e9)}}};
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

/// The refusal of kWhole with `value` put at `place`.
std::string refusal_with(const std::string& place, const Json& value) {
  Json json = Json::parse(kWhole);
  json[Json::json_pointer(place)] = value;
  return usage_message([&] { parse_machine(json.dump(), "machine.json"); });
}

std::string refusal_without(const std::string& place) {
  Json json = Json::parse(kWhole);
  const Json::json_pointer pointer(place);
  json[pointer.parent_pointer()].erase(pointer.back());
  return usage_message([&] { parse_machine(json.dump(), "machine.json"); });
}

TEST(MachineFile, RefusesKeysThatThereAreNotAndListsTheNearest) {
  EXPECT_EQ(refusal_with("/memroy", 1),
            "machine.json: memroy is not a key of a machine; nearest are memory, name, measured");
  EXPECT_EQ(refusal_with("/compute/f16", Json::object()),
            "machine.json: compute.f16 is not a key of a machine; nearest are bf16, f32, f64");
  EXPECT_EQ(refusal_with("/contention/memroy", 1),
            "machine.json: contention.memroy is not a key of a machine; nearest are memory, gemm");
  EXPECT_EQ(refusal_with("/contention/me\nmory", 1),
            "machine.json: contention.me\\nmory is not a key of a machine; nearest are memory, gemm");
  EXPECT_EQ(refusal_with("/memory/caches/1/byte", 1),
            "machine.json: memory.caches[1].byte is not a key of a machine; nearest are bytes, bytes_per_s");
  for (const char* object : {"/measured", "/compute/f64", "/compute/f32/gemm", "/memory", "/resources/node",
                             "/resources/node/shared", "/resources/node/shared/add/0", "/tuning", "/tuning/rules/0"}) {
    const std::string place = std::string(object) + "/zzz";
    EXPECT_NE(refusal_with(place, 1).find("zzz is not a key of a machine; nearest are "), std::string::npos) << object;
  }
}

TEST(MachineFile, RefusesWhatIsMissing) {
  for (const char* key : {"/schema",
                          "/name",
                          "/compute",
                          "/memory",
                          "/measured/host",
                          "/measured/date",
                          "/measured/mesh",
                          "/measured/nodes",
                          "/measured/cores",
                          "/measured/ranks_per_node",
                          "/measured/threads_per_rank",
                          "/measured/blas",
                          "/measured/mpi",
                          "/measured/commit",
                          "/compute/f32/peak_flops_per_s",
                          "/compute/f32/gemm/sizes",
                          "/compute/f32/gemm/flops_per_s",
                          "/memory/triad_bytes_per_s",
                          "/contention/gemm",
                          "/contention/memory",
                          "/resources/node/kind",
                          "/resources/node/latency_s",
                          "/resources/node/bandwidth_one_way",
                          "/resources/node/bandwidth_two_way",
                          "/resources/node/shared/latency_s",
                          "/resources/node/shared/copy",
                          "/resources/node/shared/add",
                          "/tuning/node_segment_bytes",
                          "/tuning/network_segment_bytes",
                          "/tuning/one_pass_bytes_of_two",
                          "/tuning/one_pass_bytes_of_more"}) {
    std::string dotted(key + 1);
    for (char& c : dotted) c = c == '/' ? '.' : c;
    EXPECT_EQ(refusal_without(key), "machine.json: " + dotted + " is missing");
  }
  for (const char* key : {"kind", "link", "most_ranks", "most_bytes", "algorithm"}) {
    EXPECT_EQ(refusal_without(std::string("/tuning/rules/1/") + key),
              std::string("machine.json: tuning.rules[1].") + key + " is missing");
  }
  EXPECT_EQ(refusal_without("/memory/caches/0/bytes"), "machine.json: memory.caches[0].bytes is missing");
}

TEST(MachineFile, RefusesNumbersThatCannotBe) {
  EXPECT_EQ(refusal_with("/resources/node/bandwidth_one_way", -4e9),
            "machine.json: resources.node.bandwidth_one_way is -4000000000.0: a positive number");
  EXPECT_EQ(refusal_with("/resources/network/latency_s", -1e-9),
            "machine.json: resources.network.latency_s is -1e-09: a number of at least 0");
  for (const char* place :
       {"/compute/f32/peak_flops_per_s", "/compute/f32/gemm/flops_per_s/3", "/compute/f32/kernels/attention",
        "/memory/capacity_bytes", "/memory/read_bytes_per_s", "/memory/copy_bytes_per_s", "/memory/triad_bytes_per_s",
        "/memory/triad_allocating_bytes_per_s", "/memory/caches/0/bytes", "/memory/caches/1/bytes_per_s",
        "/contention/gemm", "/contention/memory", "/resources/node/bandwidth_two_way",
        "/resources/node/shared/copy/0/bytes_per_s", "/pcie_bytes_per_s", "/between_pods_bytes_per_s"}) {
    for (const Json& value : {Json(0), Json(0.0), Json(-1), Json("1"), Json(nullptr), Json(true)}) {
      EXPECT_NE(refusal_with(place, value).find(" is " + value.dump() + ": a positive number"), std::string::npos)
          << place << " " << value;
    }
  }
  for (const char* place : {"/overhead_s", "/resources/node/residual", "/resources/node/shared/latency_s"}) {
    EXPECT_NE(refusal_with(place, -1).find(" is -1: a number of at least 0"), std::string::npos) << place;
  }
  EXPECT_NE(refusal_with("/resources/node/core_share", 1.5).find(" is 1.5: a number from 0 to 1"), std::string::npos);
  std::string text = kWhole;
  text.replace(text.find("5e+20"), 5, "5e+400");
  EXPECT_EQ(usage_message([&] { parse_machine(text, "machine.json"); }),
            "machine.json: compute.f32.peak_flops_per_s is a number beyond what a double holds");
}

TEST(MachineFile, RefusesCountsAndSizesThatCannotBe) {
  for (const Json& value : {Json(0), Json(-1), Json(1.5), Json(2147483648), Json("4")}) {
    EXPECT_EQ(refusal_with("/measured/cores", value),
              "machine.json: measured.cores is " + value.dump() + ": a whole number from 1 to 2147483647");
  }
  EXPECT_EQ(refusal_with("/tuning/rules/1/most_ranks", Json(18446744073709551615ULL)),
            "machine.json: tuning.rules[1].most_ranks is 18446744073709551615: a whole number from 1 to "
            "4611686018427387903");
  EXPECT_EQ(refusal_with("/tuning/node_segment_bytes", 1073741825),
            "machine.json: tuning.node_segment_bytes is 1073741825: a whole number from 1 to 1073741824");
  EXPECT_EQ(refusal_with("/compute/f32/gemm/sizes/1", 64),
            "machine.json: compute.f32.gemm.sizes[1] is 64: sizes rise, and it follows 64");
  EXPECT_EQ(refusal_with("/memory/caches/1/bytes", 31999.5),
            "machine.json: memory.caches[1].bytes is 31999.5: sizes rise, and it follows 32000");
  EXPECT_EQ(refusal_with("/compute/f32/gemm/flops_per_s", {1, 2, 3}),
            "machine.json: compute.f32.gemm.flops_per_s has 3 rates: 8, one for every m, n and k of 2 sizes");
}

TEST(MachineFile, RefusesWordsThatItDoesNotKnow) {
  EXPECT_EQ(refusal_with("/axes/X", "nod"), "machine.json: axes.X is \"nod\": one of network, node");
  EXPECT_EQ(refusal_without("/resources"), "machine.json: axes.X is \"network\": the file has no resources");
  EXPECT_EQ(refusal_with("/resources/node/kind", "rings"),
            "machine.json: resources.node.kind is \"rings\": one of ring, line, switch, shared_memory");
  EXPECT_EQ(refusal_with("/resources/node/kind", "ring"),
            "machine.json: resources.node.shared is for resources of kind shared_memory only");
  EXPECT_EQ(refusal_with("/bf16_wire", "auto"), "machine.json: bf16_wire is \"auto\": one of exchange, f32, hop");
  EXPECT_EQ(refusal_with("/tuning/rules/0/algorithm", "native"),
            "machine.json: tuning.rules[0].algorithm is \"native\": one of ring, bidirectional, pairwise, doubling, "
            "direct");
  EXPECT_EQ(refusal_with("/tuning/rules/1/algorithm", "doubling"),
            "machine.json: tuning.rules[1].algorithm is \"doubling\": one of ring, direct");
  EXPECT_EQ(refusal_with("/tuning/rules/0/link", 7), "machine.json: tuning.rules[0].link is 7: one of node, network");
  EXPECT_EQ(refusal_with("/tuning/rules/0/kind", "gather"),
            "machine.json: tuning.rules[0].kind is \"gather\": one of all_gather, reduce_scatter, all_reduce, "
            "all_to_all, shift");
  EXPECT_EQ(refusal_with("/measured/mesh", "X=2,X=4"),
            "machine.json: measured.mesh is \"X=2,X=4\": axes and their sizes, as in \"X=2,Y=4\"");
  EXPECT_EQ(refusal_with("/schema", "shardline.machine/2"),
            "machine.json: schema is \"shardline.machine/2\": this version reads \"shardline.machine/1\"");
}

TEST(MachineFile, RefusesOtherTypes) {
  EXPECT_EQ(refusal_with("/memory", 3), "machine.json: memory is 3: an object");
  EXPECT_EQ(refusal_with("/memory/caches", Json::object()),
            "machine.json: memory.caches is {}: an array of at least one value");
  EXPECT_EQ(refusal_with("/memory/caches", Json::array()),
            "machine.json: memory.caches is []: an array of at least one value");
  EXPECT_EQ(refusal_with("/memory/caches/0", {1, 2}), "machine.json: memory.caches[0] is an array: an object");
  EXPECT_EQ(refusal_with("/compute", Json::object()),
            "machine.json: compute is {}: at least one of f32, f64, bf16, int8");
  EXPECT_EQ(refusal_with("/axes", Json::object()), "machine.json: axes is {}: at least one key");
  EXPECT_EQ(refusal_with("/name", ""), "machine.json: name is \"\": a text");
  EXPECT_EQ(refusal_with("/measured/host", 5), "machine.json: measured.host is 5: a text");
  EXPECT_EQ(usage_message([] { parse_machine("[1]", "machine.json"); }),
            "machine.json: the whole is an array: an object");
}

TEST(MachineFile, RefusesWhatIsNoJsonAndKeysThatAreThereTwice) {
  for (const std::string& text : {std::string(), std::string(kWhole).substr(0, 300), kWhole + std::string("}")}) {
    const std::string message = usage_message([&] { parse_machine(text, "machine.json"); });
    EXPECT_EQ(message.rfind("machine.json: not JSON: ", 0), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  std::string text = kWhole;
  text.replace(text.find("\"bytes\": 1000000"), 7, "\"bytes\": 5, \"bytes\"");
  EXPECT_EQ(usage_message([&] { parse_machine(text, "machine.json"); }),
            "machine.json: memory.caches[1].bytes is there twice");
}

/// Whatever is damaged, one line says so, unless what is left is a machine too.
TEST(MachineFile, RefusesDamagedFilesInOneLine) {
  const std::string whole = kWhole;
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = whole;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t place = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[place] = static_cast<char>(random());
          break;
        case 1:
          text.erase(place, 1 + random() % 40);
          break;
        default:  // something that is elsewhere
          text.insert(place, whole.substr(random() % whole.size(), 1 + random() % 40));
      }
    }
    try {
      const Machine machine = parse_machine(text, "machine.json");
      ASSERT_TRUE(parse_machine(machine_text(machine), "again") == machine) << text;
    } catch (const UsageError& error) {
      ++refused;
      const std::string message = error.what();
      ASSERT_EQ(message.rfind("machine.json: ", 0), 0U) << message << "\n" << text;
      ASSERT_EQ(message.find('\n'), std::string::npos) << message << "\n" << text;
    }
  }
  EXPECT_GT(refused, 4000);
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
