// Compares reuse distances of arrays with distances counted by hand.

#include "program/price/reuse.h"

#include <gtest/gtest.h>

#include "program/ops/cache_attention.h"
#include "program/ops/write_at.h"
#include "program/partition/partition.h"
#include "program/product/product.h"
#include "roofline/machine/catalogue.h"

namespace shardline {
namespace {

/// A product on one rank: the last use of both operands was in the last run, A first.
TEST(Reuse, OperandsOfTheRunBefore) {
  const AbstractMesh mesh = AbstractMesh::parse("X=1");
  const Product product =
      make_product(parse_product("A[I, J] * B[J, K] -> C[I, K]"), {{"I", 2}, {"J", 3}, {"K", 5}}, mesh);
  const RankProgram program = product.candidates(roofline::hardware_named("cpu", mesh, DType::f32)).at(0).program;
  const std::vector<std::vector<Bytes>> distances = reuse_distances(program);
  ASSERT_EQ(distances.size(), 1U);
  ASSERT_EQ(distances[0].size(), 3U);
  const double a = 4.0 * 2 * 3, b = 4.0 * 3 * 5, c = 4.0 * 2 * 5;
  EXPECT_EQ(distances[0][0].value, a + b + c);
  EXPECT_EQ(distances[0][1].value, b + c);
}

/// The step after a gather uses the copy at once. The last use of the gather's operand was a run ago.
TEST(Reuse, WhatAStepHasJustMade) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  const Product product = make_product(parse_product("A[I, J_X] * B[J, K] -> C[I, K]"), {{"I", 2}, {"J", 4}, {"K", 6}},
                                       mesh, {DType::f64, DType::f64});
  for (const Candidate& each : product.candidates(roofline::hardware_named("cpu", mesh, DType::f64))) {
    if (each.program.steps.size() != 2 || each.program.steps[0].kind != StepKind::all_gather) continue;
    const std::vector<std::vector<Bytes>> distances = reuse_distances(each.program);
    const double block = 8.0 * 2 * 2, gathered = 8.0 * 2 * 4, b = 8.0 * 4 * 6, c = 8.0 * 2 * 6;
    // The gathered copy takes the memory that the copy of the last run freed.
    EXPECT_EQ(distances[0][1].value, gathered + b + c);
    EXPECT_EQ(distances[0][0].value, block + gathered + gathered + b + c);
    EXPECT_EQ(distances[1][0].value, gathered);
    EXPECT_EQ(distances[1][1].value, b + c + block + gathered);
    return;
  }
  FAIL() << "no candidate gathers A first";
}

/// A few places are written in place, so the others come from where the run before left them.
TEST(Reuse, AStateOfWhichAFewElementsAreWritten) {
  Program program;
  program.dtype = DType::f32;
  program.sizes = {{"B", 1}, {"T", 1}, {"S", 32}, {"K", 2}, {"G", 1}, {"H", 4}};
  const ArrayId q = program.add_input("q", {"B", "T", "K", "G", "H"}, Role::activation);
  const ArrayId k = program.add_input("k", {"B", "S", "K", "H"}, Role::cache);
  const ArrayId v = program.add_input("v", {"B", "S", "K", "H"}, Role::cache);
  const ArrayId made = program.add_input("made", {"B", "T", "K", "H"}, Role::activation);
  const ArrayId at = program.add_input("at", {"B", "T"}, Role::positions);
  const ArrayId where = program.add_input("where", {"S"}, Role::positions);
  const ArrayId written = write_at(program, "k'", k, made, at, where);
  const ArrayId o = cache_attention(program, "o", q, written, v, at, where, {});
  program.outputs = {written, o};
  Declaration declaration;
  for (const ArrayId input : program.inputs) {
    declaration.layouts[input] = Sharding::replicated(program.array(input).dims.size());
  }
  const RankProgram alone = partition(std::move(program), AbstractMesh::parse("X=1"), declaration);
  const std::vector<std::vector<Bytes>> distances = reuse_distances(alone);
  ASSERT_EQ(distances.size(), 2U);
  const double cache = 4.0 * 32 * 2 * 4, row = 4.0 * 2 * 4, ids = 4, places = 4.0 * 32;
  const double writes = row + ids + places, attends = row + cache + cache + ids + places + row;
  EXPECT_EQ(distances[0][0].value, attends - row) << "attention used the cache after its query";
  EXPECT_EQ(distances[1][1].value, attends - row + writes) << "a run ago too";
}

}  // namespace
}  // namespace shardline
