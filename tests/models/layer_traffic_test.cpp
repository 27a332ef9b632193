// The traffic of the derived programs of book section 5.1, compared with the table of section 5.2 as closed
// forms.

#include "models/strategy/layer_traffic.h"

#include <gtest/gtest.h>

#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

constexpr MlpSizes kSizes{96, 48, 144};

/// Elements of B D and D F, the terms of a row of the table.
struct Layer {
  double bd = 96.0 * 48;
  double df = 48.0 * 144;
};

constexpr Policy kKeep{Reuse::regather, Reuse::keep};
constexpr Policy kRegather{Reuse::regather, Reuse::regather};

using Passes = std::map<Pass, AxisBytes>;

Passes moved(const std::string& mesh, const std::string& strategy, const Policy& policy, DType dtype = DType::bf16) {
  return layer_traffic(kSizes, AbstractMesh::parse(mesh), strategy, policy, dtype);
}

const std::vector<Policy> kPolicies = {kKeep, kRegather};
const std::vector<Index> kRanks = {2, 3, 4, 6, 8};

std::string over(const std::string& axis, Index ranks) { return axis + "=" + std::to_string(ranks); }

TEST(LayerTraffic, DataParallelReducesBothGradients) {
  for (const Policy& policy : kPolicies) {
    for (const Index x : kRanks) {
      const Passes expected = {{Pass::backward, {{{"X"}, Bytes(8 * Layer().df)}}}};
      EXPECT_EQ(moved(over("X", x), "dp", policy), expected) << x;
    }
  }
}

TEST(LayerTraffic, FsdpGathersInBothPassesAndScatters) {
  for (const Policy& policy : kPolicies) {
    for (const Index x : kRanks) {
      const Passes expected = {{Pass::forward, {{{"X"}, Bytes(4 * Layer().df)}}},
                               {Pass::backward, {{{"X"}, Bytes(8 * Layer().df)}}}};
      EXPECT_EQ(moved(over("X", x), "fsdp", policy), expected) << x;
    }
  }
}

/// Gathered parameters that stay need no second gather.
TEST(LayerTraffic, FsdpThatKeepsItsParameters) {
  const Passes expected = {{Pass::forward, {{{"X"}, Bytes(4 * Layer().df)}}},
                           {Pass::backward, {{{"X"}, Bytes(4 * Layer().df)}}}};
  EXPECT_EQ(moved("X=4", "fsdp", {Reuse::keep, Reuse::keep}), expected);
}

TEST(LayerTraffic, TensorParallelMovesActivations) {
  for (const Index y : kRanks) {
    const auto expected = [](double backward) {
      return Passes{{Pass::forward, {{{"Y"}, Bytes(4 * Layer().bd)}}},
                    {Pass::backward, {{{"Y"}, Bytes(backward * Layer().bd)}}}};
    };
    EXPECT_EQ(moved(over("Y", y), "tp", kKeep), expected(4)) << y;
    EXPECT_EQ(moved(over("Y", y), "tp", kRegather), expected(6)) << y;
  }
}

TEST(LayerTraffic, FsdpAndTensorParallelOverTheirAxes) {
  for (const Index x : kRanks) {
    for (const Index y : kRanks) {
      const auto along_x = [&](double factor) { return Bytes(factor * Layer().df / static_cast<double>(y)); };
      const auto along_y = [&](double factor) { return Bytes(factor * Layer().bd / static_cast<double>(x)); };
      const auto expected = [&](double backward) {
        return Passes{{Pass::forward, {{{"X"}, along_x(4)}, {{"Y"}, along_y(4)}}},
                      {Pass::backward, {{{"X"}, along_x(8)}, {{"Y"}, along_y(backward)}}}};
      };
      const std::string mesh = over("X", x) + "," + over("Y", y);
      EXPECT_EQ(moved(mesh, "fsdp+tp", kKeep), expected(4)) << mesh;
      EXPECT_EQ(moved(mesh, "fsdp+tp", kRegather), expected(6)) << mesh;
      EXPECT_EQ(total(moved(mesh, "fsdp+tp", kKeep).at(Pass::backward)), along_x(8) + along_y(4)) << mesh;
    }
  }
}

/// One gather covers all axes of one role. Their order and their number do not change the bytes.
TEST(LayerTraffic, SeveralAxesOfOneRole) {
  const Passes expected = {{Pass::forward, {{{"X", "Y"}, Bytes(4 * Layer().df)}}},
                           {Pass::backward, {{{"X", "Y"}, Bytes(8 * Layer().df)}}}};
  EXPECT_EQ(moved("X=4,Y=2", "fsdp=X,fsdp=Y", kKeep), expected);
  EXPECT_EQ(moved("X=2,Y=8", "fsdp=Y,fsdp=X", kKeep), expected);
}

TEST(LayerTraffic, ElementsCountWithTheirSize) {
  EXPECT_EQ(total(moved("X=4", "fsdp", kKeep, DType::f32).at(Pass::forward)), Bytes(8 * Layer().df));
  EXPECT_EQ(total(moved("X=4", "fsdp", kKeep, DType::f64).at(Pass::forward)), Bytes(16 * Layer().df));
}

/// Pods of the size of real training: the code must not enumerate ranks.
TEST(LayerTraffic, LargeMeshes) {
  const MlpSizes sizes{4194304, 8192, 28672};
  const Passes passes = layer_traffic(sizes, AbstractMesh::parse("X=2048,Y=4"), "fsdp+tp", kKeep, DType::bf16);
  EXPECT_EQ(passes.at(Pass::forward).at({"X"}), Bytes(4.0 * 8192 * 28672 / 4));
  EXPECT_EQ(passes.at(Pass::forward).at({"Y"}), Bytes(4.0 * 4194304 * 8192 / 2048));
}

TEST(LayerTraffic, OneRankMovesNothing) {
  EXPECT_TRUE(moved("X=1,Y=1", "fsdp+tp", kRegather).empty());
  EXPECT_EQ(total({}), Bytes(0));
  EXPECT_EQ(usage_message([] { moved("X=2", "fsdp=X,tp=X", kKeep); }),
            "strategy \"fsdp=X,tp=X\": axis X has two roles");
}

}  // namespace
}  // namespace shardline
