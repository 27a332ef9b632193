// Assignments that a caller knows: by the names of results.

#include <gtest/gtest.h>

#include <algorithm>

#include "program/ir/print.h"
#include "program/ops/einsum.h"
#include "program/partition/check.h"
#include "program/partition/partition.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// C[I, K] = A[I, J] B[J, K], A split over I. `names`: of the products, which all read A and B.
Program products(const std::vector<std::string>& names) {
  Program p;
  p.sizes = {{"I", 8}, {"J", 8}, {"K", 8}};
  const ArrayId a = p.add_input("A", {"I", "J"}, Role::activation);
  const ArrayId b = p.add_input("B", {"J", "K"}, Role::activation);
  for (const std::string& name : names) p.outputs.push_back(einsum(p, name, {a, b}, {"I", "K"}));
  return p;
}

Declaration rows_of_a(const Program& program) {
  const Sharding whole = Sharding::replicated(2);
  return {.layouts = {{program.find("A"), Sharding{.dims = {{"X"}, {}}, .unreduced = {}}}, {program.find("B"), whole}},
          .work = {},
          .policy = {}};
}

const AbstractMesh kMesh = AbstractMesh::parse("X=2");

TEST(Assignments, GivenOnesAreTakenAndOthersAdded) {
  const Program both = products({"C", "D"});
  Assignments assignments;
  const RankProgram usual = partition(both, kMesh, rows_of_a(both), &assignments);
  EXPECT_EQ(assignments.size(), 2U);
  EXPECT_EQ(lines(usual)[0], "C[I_X, K] = A[I_X, J] *_J B[J, K]");
  Assignments other;
  other["C"] = assignments.at("C");
  other["C"].splits = {{}, {"X"}, {}};  // J, so that A moves
  const RankProgram given = partition(both, kMesh, rows_of_a(both), &other);
  check(given);
  const std::vector<std::string> made = lines(given);
  EXPECT_EQ(std::count(made.begin(), made.end(), "C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]"), 1);
  EXPECT_EQ(std::count(made.begin(), made.end(), "D[I_X, K] = A[I_X, J] *_J B[J, K]"), 1);
  EXPECT_TRUE(other.contains("D"));
}

TEST(Assignments, NamesMustDifferOnlyIfAssignmentsAreGiven) {
  const Program twice = products({"C", "C"});
  EXPECT_NO_THROW(check(partition(twice, kMesh, rows_of_a(twice))));
  Assignments assignments;
  EXPECT_THROW(partition(twice, kMesh, rows_of_a(twice), &assignments), Error);
}

}  // namespace
}  // namespace shardline
