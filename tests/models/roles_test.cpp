// Compares facts of roles with lists written by hand, for the rows of the table and for other rows.

#include "models/strategy/roles.h"

#include <gtest/gtest.h>

#include <map>

#include "models/strategy/usual_axes.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

using Dims = std::vector<std::string>;

/// The letters of the facts that a row has: batch, sequences, contexts (c), heads (h), experts, weights, state (o),
/// sums (u), products, layers.
std::string facts(const RoleRow& row) {
  std::string letters;
  if (splits_batch(row)) letters += 'b';
  if (splits_sequences(row)) letters += 's';
  if (shares_sequences(row)) letters += 'c';
  if (splits_heads(row)) letters += 'h';
  if (splits_experts(row)) letters += 'e';
  if (splits_weights(row)) letters += 'w';
  if (splits_state(row)) letters += 'o';
  if (splits_sums(row)) letters += 'u';
  if (splits_products(row)) letters += 'p';
  if (makes_stages(row)) letters += 'l';
  return letters;
}

TEST(Roles, FactsFollowFromTheRows) {
  const std::map<std::string, std::string> expected = {
      {"dp", "b"},          {"zero1", "bo"},       {"zero2", "bou"},     {"fsdp", "bwou"},     {"tp", "hwoup"},
      {"tp_seq", "shwoup"}, {"tp_g", "swoup"},     {"cp", "sc"},         {"cp_fsdp", "scwou"}, {"cp_heads", "sch"},
      {"ep", "bewoup"},     {"ep_fsdp", "bewoup"}, {"tp_ep", "shewoup"}, {"pp", "l"}};
  ASSERT_EQ(training_roles().size(), expected.size());
  for (const AxisRole& role : training_roles()) EXPECT_EQ(facts(role.row()), expected.at(role.name())) << role.name();
}

/// The facts do not depend on names: rows outside the table, with names without a meaning.
TEST(Roles, FactsOfOtherRows) {
  const Dims heads{"F", "K", "V"};
  EXPECT_EQ(facts({"a", {}, {}, {}, {"T"}, {"T"}, {"T"}}), "sc") << "context";
  EXPECT_EQ(facts({"a", {"D"}, {"D"}, {}, {"T"}, {"T"}, {"T"}}), "scwo") << "context with sharded weights";
  EXPECT_EQ(facts({"a", {"E"}, {"E"}, {"E"}, {"B"}, {"B"}, {"E", "B"}}), "bewoup") << "experts";
  EXPECT_EQ(facts({"a", heads, heads, heads, {}, {}, {"F", "K", "V"}}), "hwoup")
      << "tensor parallelism with a whole stream";
  EXPECT_EQ(facts({"tp_seq", {}, {}, {}, {}, {}, {}}), "l") << "a pipeline splits no array";
  EXPECT_EQ(facts({"a", {}, {}, {"D"}, {}, {}, {}}), "u") << "a row that splits sums alone makes no stages";
}

TEST(Roles, AreParsedByNameAndOrderedAsTheTable) {
  EXPECT_EQ(AxisRole::parse("zero1").name(), "zero1");
  EXPECT_EQ(AxisRole::parse("tp_g").row().parameters, (Dims{"F", "G", "V"}));
  EXPECT_LT(AxisRole::parse("dp"), AxisRole::parse("fsdp"));
  EXPECT_EQ(AxisRole::parse("tp"), AxisRole::parse("tp"));
  EXPECT_EQ(usage_message([] { AxisRole::parse("TP"); }),
            "unknown role \"TP\" in a strategy; roles are dp, zero1, zero2, fsdp, tp, tp_seq, tp_g, cp, cp_fsdp, "
            "cp_heads, ep, ep_fsdp, tp_ep, pp");
  EXPECT_EQ(default_role().name(), "fsdp");
  EXPECT_EQ(role_between_pods().name(), "dp");
  EXPECT_EQ(tensor_role().name(), "tp");
  EXPECT_EQ(context_role(AxisRole::parse("fsdp")).name(), "cp_fsdp");
  EXPECT_EQ(context_role(AxisRole::parse("zero1")).name(), "cp");
}

/// For one micro-batch only zero2 means what an earlier row means.
TEST(Roles, OnlyZero2RepeatsAnEarlierRowWithoutSums) {
  for (const AxisRole& a : training_roles()) {
    for (const AxisRole& b : training_roles()) {
      const bool expected = a == b || (a.name() + b.name() == "zero1zero2") || (a.name() + b.name() == "zero2zero1");
      EXPECT_EQ(same_without_sums(a.row(), b.row()), expected) << a.name() << " " << b.name();
    }
  }
}

std::string names(const std::vector<AxisRole>& roles) {
  std::string all;
  for (const AxisRole& role : roles) all += (all.empty() ? "" : " ") + role.name();
  return all;
}

TEST(Roles, HaveUsualAxes) {
  EXPECT_EQ(names(usual_roles("X")), "dp zero1 zero2 fsdp ep ep_fsdp");
  EXPECT_EQ(names(usual_roles("Y")), "tp tp_seq tp_g cp cp_fsdp cp_heads tp_ep");
  EXPECT_EQ(names(usual_roles("C")), "cp cp_fsdp cp_heads");
  EXPECT_EQ(names(usual_roles("Z")), "pp");
  EXPECT_EQ(names(usual_roles("pods")), "dp");
  EXPECT_EQ(names(usual_roles("data")), "dp zero1 zero2 fsdp ep ep_fsdp");
  EXPECT_EQ(usual_axis(AxisRole::parse("zero1")), "X");
  EXPECT_EQ(usual_axis(AxisRole::parse("tp_g")), "Y");
}

}  // namespace
}  // namespace shardline
