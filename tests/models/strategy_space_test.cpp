// Compares the enumerator with lists written by hand and with plain counting.

#include "models/strategy/strategy_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/base/check.h"

namespace shardline {
namespace {

using Texts = std::vector<std::string>;

Texts texts(const StrategySpace& space) {
  Texts all;
  for (const Strategy& strategy : strategies_of(space)) all.push_back(to_string(strategy));
  return all;
}

Texts searched(const std::string& mesh_text) {
  const AbstractMesh mesh = AbstractMesh::parse(mesh_text);
  return texts({.mesh = mesh, .roles = searched_roles(mesh)});
}

TEST(StrategySpace, SearchesTheUsualRolesOfAxes) {
  EXPECT_EQ(searched("X=4,Y=8"), (Texts{"dp=X,tp=Y", "zero1=X,tp=Y", "zero2=X,tp=Y", "fsdp=X,tp=Y"}));
  EXPECT_EQ(searched("Y=8,X=4"), (Texts{"tp=Y,dp=X", "tp=Y,zero1=X", "tp=Y,zero2=X", "tp=Y,fsdp=X"}));
  EXPECT_EQ(searched("pods=2,X=2"), (Texts{"dp=pods,dp=X", "dp=pods,zero1=X", "dp=pods,zero2=X", "dp=pods,fsdp=X"}));
  EXPECT_EQ(searched("C=2,Y=2"), (Texts{"cp=C,tp=Y", "cp_fsdp=C,tp=Y", "cp_heads=C,tp=Y"}));
  EXPECT_EQ(searched("X=1,Y=8"), Texts{"fsdp=X,tp=Y"});
  EXPECT_EQ(searched("X=1"), Texts{"fsdp=X"});
  EXPECT_EQ(searched("a=2,b=2"),
            (Texts{"dp=a,dp=b", "dp=a,zero1=b", "dp=a,zero2=b", "dp=a,fsdp=b", "zero1=a,dp=b", "zero1=a,zero1=b",
                   "zero1=a,zero2=b", "zero1=a,fsdp=b", "zero2=a,dp=b", "zero2=a,zero1=b", "zero2=a,zero2=b",
                   "zero2=a,fsdp=b", "fsdp=a,dp=b", "fsdp=a,zero1=b", "fsdp=a,zero2=b", "fsdp=a,fsdp=b"}));
  EXPECT_EQ(strategies_of({}).size(), 1U) << "the mesh of one rank has the strategy of no roles";
}

/// Three axes, all roles: three nested loops. If B is like A, the role of B is not before that of A.
TEST(StrategySpace, AxesThatAreAlikeDoNotSwapRoles) {
  const AbstractMesh mesh = AbstractMesh::parse("A=2,B=2,C=2");
  const Texts roles{"dp", "zero1",   "zero2",    "fsdp", "tp",      "tp_seq", "tp_g",
                    "cp", "cp_fsdp", "cp_heads", "ep",   "ep_fsdp", "tp_ep"};
  Texts all;
  Texts ordered;
  for (std::size_t a = 0; a < roles.size(); ++a) {
    for (std::size_t b = 0; b < roles.size(); ++b) {
      for (const std::string& c : roles) {
        all.push_back(roles[a] + "=A," + roles[b] + "=B," + c + "=C");
        if (a <= b) ordered.push_back(all.back());
      }
    }
  }
  const auto a_and_b = [](const Axis& one, const Axis& other) { return one == "A" && other == "B"; };
  EXPECT_EQ(texts({.mesh = mesh, .roles = every_role(mesh)}), all);
  EXPECT_EQ(texts({.mesh = mesh, .roles = every_role(mesh), .alike = a_and_b}), ordered);
}

/// A program without sequences has none to split, and one without experts no experts.
TEST(StrategySpace, RolesForAProgram) {
  const AbstractMesh mesh = AbstractMesh::parse("A=2");
  Program program;
  program.sizes = {{"B", 4}, {"D", 4}};
  EXPECT_EQ(texts({.mesh = mesh, .roles = roles_for(program, mesh)}),
            (Texts{"dp=A", "zero1=A", "zero2=A", "fsdp=A", "tp=A"}));
  program.sizes["T"] = 3;
  EXPECT_EQ(
      texts({.mesh = mesh, .roles = roles_for(program, mesh)}),
      (Texts{"dp=A", "zero1=A", "zero2=A", "fsdp=A", "tp=A", "tp_seq=A", "tp_g=A", "cp=A", "cp_fsdp=A", "cp_heads=A"}));
  program.sizes["E"] = 8;
  EXPECT_EQ(roles_for(program, mesh), every_role(mesh));
}

/// zero2 differs from zero1 only in the sums of micro-batches. Where zero1 is not to be tried, zero2 stays.
TEST(StrategySpace, RolesForOneMicroBatch) {
  const AbstractMesh mesh = AbstractMesh::parse("A=2");
  const AxisRoles roles = for_one_micro_batch(every_role(mesh));
  EXPECT_EQ(texts({.mesh = mesh, .roles = roles}),
            (Texts{"dp=A", "zero1=A", "fsdp=A", "tp=A", "tp_seq=A", "tp_g=A", "cp=A", "cp_fsdp=A", "cp_heads=A", "ep=A",
                   "ep_fsdp=A", "tp_ep=A"}));
  const AxisRoles alone{{"A", {AxisRole::parse("zero2"), AxisRole::parse("dp")}}};
  EXPECT_EQ(texts({.mesh = mesh, .roles = for_one_micro_batch(alone)}), (Texts{"zero2=A", "dp=A"}));
}

/// The only strategy is tp on A and dp on B, alike or not.
TEST(StrategySpace, AxesOfOtherRolesAreNotAlike) {
  const auto always = [](const Axis&, const Axis&) { return true; };
  const AxisRoles roles{{"A", {AxisRole::parse("tp")}}, {"B", {AxisRole::parse("dp")}}};
  EXPECT_EQ(texts({.mesh = AbstractMesh::parse("A=2,B=2"), .roles = roles, .alike = always}), Texts{"tp=A,dp=B"});
}

TEST(StrategySpace, RefusesAnAxisWithoutRoles) {
  const AbstractMesh mesh = AbstractMesh::parse("A=2");
  EXPECT_THROW(strategies_of({.mesh = mesh, .roles = {}}), Error);
  EXPECT_THROW(strategies_of({.mesh = mesh, .roles = {{"A", {}}}}), Error);
}

TEST(StrategySpace, FactorsArePowersOfTwo) {
  using Factors = std::vector<std::vector<Index>>;
  EXPECT_EQ(power_factors(8, 2), (Factors{{1, 8}, {2, 4}, {4, 2}, {8, 1}}));
  EXPECT_EQ(power_factors(4, 3), (Factors{{1, 1, 4}, {1, 2, 2}, {1, 4, 1}, {2, 1, 2}, {2, 2, 1}, {4, 1, 1}}));
  EXPECT_EQ(power_factors(1, 2), (Factors{{1, 1}}));
  EXPECT_EQ(power_factors(16, 1), (Factors{{16}}));
  EXPECT_TRUE(power_factors(6, 2).empty());
  // As many ways as to put 10 factors of two into four places: 13 choose 3.
  const Factors many = power_factors(1024, 4);
  EXPECT_EQ(many.size(), 286U);
  EXPECT_EQ(std::set<std::vector<Index>>(many.begin(), many.end()).size(), 286U);
  EXPECT_TRUE(std::is_sorted(many.begin(), many.end()));
}

}  // namespace
}  // namespace shardline
