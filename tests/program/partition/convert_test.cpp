#include "program/partition/convert.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "program/ir/print.h"
#include "program/partition/check.h"
#include "runtime/layout/notation.h"
#include "tests/program/scale.h"
#include "tests/program/simulator.h"

namespace shardline {
namespace {

/// A program that only converts A[I,J] from one layout to another.
RankProgram conversion_program(const AbstractMesh& mesh, const Shape& shape, const Sharding& from, const Sharding& to) {
  RankProgram p;
  p.mesh = mesh;
  p.program.sizes = {{"I", shape[0]}, {"J", shape[1]}};
  const ArrayId a = p.program.add_input("A", {"I", "J"}, Role::activation);
  p.program.array(a).reduce = from.unreduced.empty() ? to.reduce : from.reduce;
  p.versions.push_back({a, from, {}, true});
  p.inputs[a] = 0;
  Converter converter(mesh);
  for (const Conversion& conversion : converter.plan(shape, from, to).steps) {
    Step step;
    step.kind = conversion.kind;
    step.operands = {static_cast<VersionId>(p.versions.size()) - 1};
    step.results = {static_cast<VersionId>(p.versions.size())};
    step.axes = conversion.axes;
    step.from_dim = conversion.from_dim;
    step.to_dim = conversion.to_dim;
    p.versions.push_back({a, conversion.result, {}, false});
    p.steps.push_back(step);
  }
  p.finals[a] = static_cast<VersionId>(p.versions.size()) - 1;
  return p;
}

Sharding sharding(const std::string& text) { return parse_array(text).sharding; }

const Shape kShape = {8, 12};

/// The steps from one layout to another over {X:2, Y:2}, as text without the arrays: "AllGather_Y".
std::string steps(const std::string& from, const std::string& to, const Shape& shape = kShape) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  std::string text;
  for (const std::string& line : lines(conversion_program(mesh, shape, sharding(from), sharding(to)))) {
    const std::size_t begin = line.find(" = ") + 3;
    text += (text.empty() ? "" : " ") + line.substr(begin, line.find('(') - begin);
  }
  return text;
}

Index wire(const std::string& from, const std::string& to) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  Converter converter(mesh);
  return converter.plan(kShape, sharding(from), sharding(to)).cost.wire;
}

TEST(Convert, NothingToDo) { EXPECT_EQ(steps("A[I_X, J]{U_Y}", "A[I_X, J]{U_Y}"), ""); }

TEST(Convert, OnlyTheMinorAxisIsGathered) {
  EXPECT_EQ(steps("A[I_XY, J]", "A[I_X, J]"), "AllGather_Y");
  EXPECT_EQ(steps("A[I_YX, J]", "A[I_Y, J]"), "AllGather_X");
  EXPECT_EQ(steps("A[I_X, J_Y]", "A[I, J_Y]"), "AllGather_X");
}

TEST(Convert, WhatIsNoGatherIsOneReshard) {
  EXPECT_EQ(steps("A[I_XY, J]", "A[I_Y, J]"), "Reshard_XY");
  EXPECT_EQ(steps("A[I_XY, J]", "A[I_YX, J]"), "Reshard_XY");
  EXPECT_EQ(steps("A[I_X, J_Y]", "A[I_Y, J_X]"), "Reshard_XY");
  EXPECT_EQ(steps("A[I_X, J]", "A[I_Y, J]"), "Reshard_XY");
  EXPECT_EQ(steps("A[I_X, J]", "A[I_XY, J]"), "Slice_Y");
}

TEST(Convert, NeighbouringStepsMerge) {
  EXPECT_EQ(steps("A[I_XY, J]", "A[I, J]"), "AllGather_XY");
  EXPECT_EQ(steps("A[I_YX, J]", "A[I, J]"), "AllGather_YX");
  EXPECT_EQ(steps("A[I, J]", "A[I_XY, J]"), "Slice_XY");
  EXPECT_EQ(steps("A[I, J]{U_XY}", "A[I, J]"), "AllReduce_XY");
  EXPECT_EQ(steps("A[I, J]{U_XY}", "A[I, J_YX]"), "ReduceScatter_YX");
  EXPECT_EQ(steps("A[I, J]", "A[I, J]{U_XY}"), "Owe_XY");
}

TEST(Convert, AllToAllMovesAMinorAxisToAMinorPlace) {
  EXPECT_EQ(steps("A[I_X, J]", "A[I, J_X]"), "AllToAll_X");
  EXPECT_EQ(steps("A[I_XY, J]", "A[I_X, J_Y]"), "AllToAll_Y");
  EXPECT_EQ(steps("A[I_Y, J_X]", "A[I, J_XY]"), "AllToAll_Y");
  EXPECT_EQ(steps("A[I_XY, J]", "A[I_Y, J_X]"), "Reshard_XY");
}

TEST(Convert, OwedToShardedIsOneReduceScatter) {
  EXPECT_EQ(steps("A[I, J]{U_X}", "A[I_X, J]"), "ReduceScatter_X");
  EXPECT_EQ(steps("A[I_Y, J]{U_X}", "A[I_YX, J]"), "ReduceScatter_X");
  EXPECT_EQ(steps("A[I, J]{U_X}", "A[I, J]"), "AllReduce_X");
  EXPECT_EQ(steps("A[I, J]{U_XY}", "A[I_X, J]{U_Y}"), "ReduceScatter_X");
}

TEST(Convert, MaximaAreNeitherScatteredNorInvented) {
  EXPECT_EQ(steps("A[I, J]{Max_X}", "A[I, J]"), "AllReduceMax_X");
  EXPECT_EQ(steps("A[I, J]{Max_X}", "A[I_X, J]"), "AllReduceMax_X Slice_X");
  const AbstractMesh mesh = AbstractMesh::parse("X=2,Y=2");
  Converter converter(mesh);
  EXPECT_FALSE(converter.plan(kShape, sharding("A[I, J]"), sharding("A[I, J]{Max_X}")).possible);
  EXPECT_FALSE(converter.plan(kShape, sharding("A[I_X, J]"), sharding("A[I, J]{Max_X}")).possible);
  EXPECT_FALSE(converter.plan(kShape, sharding("A[I, J]{Max_X}"), sharding("A[I, J]{Max_XY}")).possible);
}

TEST(Convert, WireCountsTheElementsThatLeaveTheBusiestRank) {
  EXPECT_EQ(wire("A[I_X, J]", "A[I, J]"), 48);       // half of the 96 elements
  EXPECT_EQ(wire("A[I_XY, J]", "A[I, J]"), 72);      // three quarters, in two rounds
  EXPECT_EQ(wire("A[I, J]{U_X}", "A[I_X, J]"), 48);  // like the gather
  EXPECT_EQ(wire("A[I, J]{U_X}", "A[I, J]"), 96);    // twice the scatter
  EXPECT_EQ(wire("A[I_X, J]", "A[I, J_X]"), 24);     // half of the 48 that a rank holds
  EXPECT_EQ(wire("A[I_XY, J]", "A[I_YX, J]"), 24);   // all that a rank holds
  EXPECT_EQ(wire("A[I, J]", "A[I_X, J]{U_Y}"), 0);   // slicing and owing are free
  EXPECT_LT((ConversionCost{5, 9}), (ConversionCost{6, 1}));
  EXPECT_LT((ConversionCost{5, 1}), (ConversionCost{5, 2}));
}

/// All shardings of two dims over the axes of `mesh`, also with unreduced axes.
std::vector<Sharding> shardings_over(const AbstractMesh& mesh) {
  std::vector<Sharding> result;
  for (const char* text : {"A[I, J]", "A[I_X, J]", "A[I, J_X]", "A[I_Y, J]", "A[I, J_Y]", "A[I_XY, J]", "A[I_YX, J]",
                           "A[I, J_XY]", "A[I, J_YX]", "A[I_X, J_Y]", "A[I_Y, J_X]", "A[I, J]{U_X}", "A[I, J]{U_Y}",
                           "A[I, J]{U_XY}", "A[I_X, J]{U_Y}", "A[I, J_X]{U_Y}", "A[I_Y, J]{U_X}", "A[I, J_Y]{U_X}"}) {
    result.push_back(resolve(parse_array(text), mesh).sharding);
  }
  return result;
}

TEST(Convert, EveryPairOfLayoutsOfSumsIsReachedRightly) {
  for (const char* text : {"X=2,Y=2", "X=2,Y=3", "X=3,Y=2"}) {
    const AbstractMesh mesh = AbstractMesh::parse(text);
    for (const Shape& shape : {Shape{7, 5}, Shape{4, 6}, Shape{1, 2}}) {
      if (kFewer > 1 && shape[0] != 7) continue;
      for (const Sharding& from : shardings_over(mesh)) {
        for (const Sharding& to : shardings_over(mesh)) {
          const RankProgram p = conversion_program(mesh, shape, from, to);
          ASSERT_EQ(p.version(p.finals.at(0)).sharding, to);
          ASSERT_LE(p.steps.size(), 4U);
          SCOPED_TRACE(to_string("A", {"I", "J"}, from) + " to " + to_string("A", {"I", "J"}, to));
          for (const std::string& line : lines(p)) SCOPED_TRACE(line);
          ASSERT_NO_THROW(simulate(p, run_unsharded(p.program, random_inputs(p.program, 1))));
        }
      }
    }
  }
}

}  // namespace
}  // namespace shardline
