#include "runtime/layout/sharding.h"

#include <gtest/gtest.h>

#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

const AbstractMesh& mesh() {
  static const AbstractMesh mesh({{"X", 2}, {"Y", 4}, {"data", 1}});
  return mesh;
}

std::string refusal(const Sharding& sharding) {
  return usage_message([&] { validated(sharding, "A", {"I", "J"}, mesh()); });
}

TEST(Sharding, NamesArrayDimAxisAndMeshWhenRefused) {
  EXPECT_EQ(refusal({{{"X"}, {"Q"}}, {}}),
            "A[I_X, J_Q]: dim J is sharded over axis Q, which mesh {X:2, Y:4, data:1} does not have");
  EXPECT_EQ(refusal({{{"X"}, {"Y", "X"}}, {}}),
            "A[I_X, J_YX]: axis X is used twice (again on dim J); mesh {X:2, Y:4, data:1}");
  EXPECT_EQ(refusal({{{"X"}, {}}, {"X"}}),
            "A[I_X, J]{U_X}: axis X is used twice: it is unreduced and used before; mesh {X:2, Y:4, data:1}");
  EXPECT_EQ(refusal({{{}, {}}, {"Y", "Y"}}),
            "A[I, J]{U_YY}: axis Y is used twice: it is unreduced and used before; mesh {X:2, Y:4, data:1}");
  EXPECT_EQ(refusal({{{}, {}}, {"Z"}, ReduceOp::max}),
            "A[I, J]{Max_Z}: unreduced over axis Z, which mesh {X:2, Y:4, data:1} does not have");
  EXPECT_EQ(refusal({{{"X"}}, {}}), "array A has 2 dims, its sharding 1");
}

TEST(Sharding, UnreducedAxesComeIntoMeshOrder) {
  const Sharding sharding = validated({{{}, {"X"}}, {"data", "Y"}, ReduceOp::max}, "A", {"I", "J"}, mesh());
  EXPECT_EQ(sharding.unreduced, (Axes{"Y", "data"}));
  EXPECT_EQ(sharding.dims, (std::vector<Axes>{{}, {"X"}}));
  EXPECT_EQ(sharding.reduce, ReduceOp::max);
  EXPECT_EQ(validated({{{}}, {}, ReduceOp::max}, "A", {"I"}, mesh()).reduce, ReduceOp::sum);
}

TEST(Sharding, TheOrderOfTheAxesOfADimIsKept) {
  EXPECT_EQ(validated({{{"Y", "X"}}, {}}, "A", {"I"}, mesh()).dims[0], (Axes{"Y", "X"}));
}

TEST(Sharding, KnowsWhereAnAxisIs) {
  const Sharding sharding{{{}, {"X", "Y"}}, {"data"}};
  EXPECT_EQ(sharding.dim_of("Y"), 1);
  EXPECT_EQ(sharding.dim_of("data"), -1);
  EXPECT_TRUE(sharding.uses("data"));
  EXPECT_FALSE(sharding.uses("Z"));
  EXPECT_EQ(Sharding::replicated(2), (Sharding{{{}, {}}, {}}));
}

TEST(Sharding, Prints) {
  EXPECT_EQ(to_string("A", {"I", "J"}, {{{"X", "Y"}, {}}, {"Z"}}), "A[I_XY, J]{U_Z}");
  EXPECT_EQ(to_string("W_in", {"D"}, {{{"data", "X"}}, {"model"}, ReduceOp::max}), "W_in[D_{data,X}]{Max_{model}}");
  EXPECT_EQ(to_string("L", {}, {}), "L[]");
}

TEST(Axes, SimpleQuestions) {
  EXPECT_TRUE(contains({"X", "Y"}, "Y"));
  EXPECT_FALSE(contains({"X", "Y"}, "y"));
  EXPECT_EQ(without({"X", "Y", "Z"}, "Y"), (Axes{"X", "Z"}));
  EXPECT_TRUE(starts_with({"X", "Y"}, {"X"}));
  EXPECT_TRUE(starts_with({"X"}, {}));
  EXPECT_FALSE(starts_with({"X"}, {"X", "Y"}));
  EXPECT_FALSE(starts_with({"Y", "X"}, {"X"}));
}

}  // namespace
}  // namespace shardline
