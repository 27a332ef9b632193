// Every fault in the file of a machine gives one line that names the place.

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "roofline/machine/machine_file.h"
#include "runtime/base/check.h"
#include "tests/roofline/whole_machine.h"
#include "tests/runtime/message_of.h"

namespace shardline::roofline {
namespace {

using Json = nlohmann::ordered_json;

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
  EXPECT_EQ(refusal_with("/compute/f32/library", "mkl"),
            "machine.json: compute.f32.library is \"mkl\": one of openblas, onednn");
  EXPECT_EQ(refusal_with("/compute/f32/panels", 2.0),
            "machine.json: compute.f32.panels is 2: a share of the rate, at most 1");
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

/// Every damage gives one line, unless the result is a machine too.
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
        default:  // a text from another place
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

}  // namespace
}  // namespace shardline::roofline
