// The legal products, and the case of each axis. Needs no ranks.

#include <gtest/gtest.h>

#include "program/product/chain.h"
#include "program/product/product.h"
#include "roofline/machine/catalogue.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

const std::map<std::string, Index> kSizes{{"I", 4}, {"J", 6}, {"K", 8}};

Product make(const std::string& text, const std::map<std::string, Index>& sizes = kSizes,
             const std::string& mesh = "X=2,Y=3", DType dtype = DType::f32) {
  return make_product(parse_product(text), sizes, AbstractMesh::parse(mesh), {dtype, dtype});
}

/// The message of the refusal of a product.
std::string refusal(const std::string& text, const std::map<std::string, Index>& sizes = kSizes) {
  return usage_message([&] { make(text, sizes); });
}

int case_of(const std::string& text, const Axis& axis, const std::map<std::string, Index>& sizes = kSizes) {
  const Product product = make(text, sizes);
  const roofline::Hardware hardware = roofline::hardware_named("cpu", product.mesh, DType::f32);
  for (const AxisCase& each : cases(product, product.candidates(hardware).at(0).program)) {
    if (each.axis == axis) return each.number;
  }
  return 0;
}

TEST(ProductRules, TheFourCasesOfTheBook) {
  EXPECT_EQ(case_of("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "X"), 1);
  EXPECT_EQ(case_of("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "Y"), 1);
  EXPECT_EQ(case_of("A[I, J_X] * B[J, K] -> C[I, K]", "X"), 2);
  EXPECT_EQ(case_of("A[I, J] * B[J_X, K] -> C[I, K]", "X"), 2);
  EXPECT_EQ(case_of("A[I, J_X] * B[J_X, K] -> C[I, K]", "X"), 3);
  EXPECT_EQ(case_of("A[I_X, J] * B[J, K_X] -> C[I, K]", "X"), 4);
}

TEST(ProductRules, CasesBeyondTheBook) {
  EXPECT_EQ(case_of("A[I, J] * B[J, K] -> C[I, K]", "X"), 1);      // shards nothing
  EXPECT_EQ(case_of("A[I_X, J] * B[J_X, K] -> C[I, K]", "X"), 2);  // contracted in one, free in the other
  EXPECT_EQ(case_of("A[I, J_XY] * B[J_Y, K_X] -> C[I, K]", "X"), 2);
  EXPECT_EQ(case_of("A[I, J_XY] * B[J_Y, K_X] -> C[I, K]", "Y"), 3);  // the same dim; the order does not matter
  EXPECT_EQ(case_of("A[I_X, J, K] * B[I_X, J, K] -> C[I]", "X"), 1);  // a batch dim is not free
  EXPECT_EQ(case_of("A[I, J_X, K] * B[J, K_X] -> C[I]", "X"), 2);     // two contracted dims
  EXPECT_EQ(case_of("A[I, J]{U_X} * B[J, K] -> C[I, K]", "X"), 1);    // an unreduced axis is no case
}

TEST(ProductRules, LowerCaseAxesAndCanonicalText) {
  EXPECT_EQ(make("A[I,J_x]@B[J_x,K]→C[I,K_y]").to_string(), "A[I, J_X] * B[J_X, K] -> C[I, K_Y]");
}

TEST(ProductRules, RefusesWhatIsNoProduct) {
  EXPECT_EQ(refusal("A[I, J] * B[J, K]"),
            "no result given; write -> C[...] after the operands, with the layout wanted");
  EXPECT_EQ(refusal("A[I, J] * A[J, K] -> C[I, K]"),
            "the arrays of a product need names of their own; A is given twice");
}

TEST(ProductRules, ASubscriptOfTimesIsWhatTheProductSumsOver) {
  EXPECT_EQ(make("A[I, J_X] *_J B[J, K] -> C[I, K]").to_string(), "A[I, J_X] * B[J, K] -> C[I, K]");
  EXPECT_EQ(make("A[I, J, K] *_{JK} B[J, K] -> C[I]").to_string(), "A[I, J, K] * B[J, K] -> C[I]");
  EXPECT_EQ(make("A[I, J, K] *_KJ B[J, K] -> C[I]").to_string(), "A[I, J, K] * B[J, K] -> C[I]");
  make("A[I, J] *_J B[J, K] *_K D[K, I] -> C[I]");
  make("A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]{U_X}");
  make("A[I_X, J] ·_LOCAL B[J, K] -> C[I_X, K]");
  EXPECT_EQ(refusal("A[I, J] *_K B[J, K] -> C[I, K]"), "*_K stands before B[J, K], but that product sums over J");
  EXPECT_EQ(refusal("A[I, J] *_JK B[J, K] -> C[I, K]"), "*_JK stands before B[J, K], but that product sums over J");
  EXPECT_EQ(refusal("A[I, J] *_J B[J, K] *_J D[K, I] -> C[I]"),
            "*_J stands before D[K, I], but that product sums over K");
  EXPECT_EQ(refusal("A[I] *_I B[I] -> C[I]", {{"I", 4}}), "*_I stands before B[I], but that product sums over no dim");
  EXPECT_EQ(refusal("A[I, J_X] ·_LOCAL B[J_X, K] -> C[I, K]"),
            "LOCAL leaves the sum over J owed on X, as in C[...]{U_X}, but the result is C[I, K]");
}

const std::map<std::string, Index> kTwo{{"I", 4}, {"J", 6}};

std::string conversion(const std::string& text, const std::string& mesh = "X=2,Y=3") {
  return make(text, kTwo, mesh).to_string();
}

TEST(ProductRules, OneOperandIsAConversion) {
  EXPECT_EQ(conversion("A[I_X, J] -> A[I, J]"), "A[I_X, J] -> A[I, J]");
  EXPECT_EQ(conversion("A[I_X, J]"), "A[I_X, J] -> A[I_X, J]");
  EXPECT_EQ(conversion("[I, J]{U_X} -> [I, J_X]"), "A[I, J]{U_X} -> A[I, J_X]");
  EXPECT_EQ(conversion("A[I, J]{Max_XY} -> A[I, J]{Max_Y}"), "A[I, J]{Max_XY} -> A[I, J]{Max_Y}");
  EXPECT_EQ(refusal("A[I, J] -> C[I, J]", kTwo),
            "A[I, J] is the only operand, so that it is moved and not computed with: the result is A again, with the "
            "same dims in the same order, not C[I, J]");
  EXPECT_EQ(refusal("A[I, J] -> A[J, I]", kTwo),
            "A[I, J] is the only operand, so that it is moved and not computed with: the result is A again, with the "
            "same dims in the same order, not A[J, I]");
  EXPECT_EQ(refusal("A[I, J] -> A[I, J]{Max_X}", kTwo),
            "A[I, J] cannot become A[I, J]{Max_X}: maxima can only be owed where A owes them");
  EXPECT_EQ(refusal("A[I, J]{Max_X} -> A[I, J]{U_X}", kTwo),
            "A[I, J]{Max_X} cannot become A[I, J]{U_X}: maxima can only be owed where A owes them");
}

TEST(ProductRules, ACollectiveSaysWhatItMakes) {
  EXPECT_EQ(conversion("AllGather_X(A[I_X, J_Y])"), "A[I_X, J_Y] -> A[I, J_Y]");
  EXPECT_EQ(conversion("AllGather_{XY}(A[I_X, J_Y])"), "A[I_X, J_Y] -> A[I, J]");
  EXPECT_EQ(conversion("AllGather(A[I_X, J_Y])"), "A[I_X, J_Y] -> A[I, J]");
  EXPECT_EQ(conversion("AllGather(A[I_X, J_Y]) -> A[I_X, J]"), "A[I_X, J_Y] -> A[I_X, J]");
  EXPECT_EQ(conversion("AllGather_x(A[I_xy, J]) -> A[I_y, J]"), "A[I_XY, J] -> A[I_Y, J]");
  EXPECT_EQ(conversion("AllReduce(A[I, J]{U_X})"), "A[I, J]{U_X} -> A[I, J]");
  EXPECT_EQ(conversion("A[I_X, J] = AllReduce_Y(A[I_X, J]{U_Y})"), "A[I_X, J]{U_Y} -> A[I_X, J]");
  EXPECT_EQ(conversion("AllReduceMax_X(A[I, J]{Max_X})"), "A[I, J]{Max_X} -> A[I, J]");
  EXPECT_EQ(conversion("ReduceScatter_{Y,J} : A[I_X, J]{U_Y}"), "A[I_X, J]{U_Y} -> A[I_X, J_Y]");
  EXPECT_EQ(conversion("ReduceScatter_X(A[I, J]{U_X}) -> A[I, J_X]"), "A[I, J]{U_X} -> A[I, J_X]");
  EXPECT_EQ(conversion("AllToAll_{X,J} A[I_X, J]"), "A[I_X, J] -> A[I, J_X]");
  EXPECT_EQ(conversion("AllToAll_X A[I, J_X] -> A[I_X, J]"), "A[I, J_X] -> A[I_X, J]");
  EXPECT_EQ(conversion("A[I_X, J] = Slice_X(A[I, J])"), "A[I, J] -> A[I_X, J]");
  EXPECT_EQ(conversion("A[I, J]{U_X} = Owe_X(A[I, J])"), "A[I, J] -> A[I, J]{U_X}");
  EXPECT_EQ(conversion("A[I_YX, J] = Reshard_XY(A[I_XY, J])"), "A[I_XY, J] -> A[I_YX, J]");
}

TEST(ProductRules, StepsOfAConversionAddUp) {
  const Product product = make("AllGather_XY(A[I_X, J_Y])", kTwo, "X=2,Y=3", DType::bf16);
  const roofline::Hardware chip = roofline::hardware_named("v5e", product.mesh, DType::bf16);
  const std::vector<Candidate> ways = product.candidates(chip);
  ASSERT_EQ(ways.size(), 1U);
  ASSERT_EQ(ways[0].price.steps.size(), 2U);
  EXPECT_EQ(ways[0].price.total, ways[0].price.steps[0].price.time + ways[0].price.steps[1].price.time);
  EXPECT_GT(ways[0].price.total, ways[0].price.comms);  // comms is that of the busiest link
}

TEST(ProductRules, RefusesACollectiveThatDoesNotDoIt) {
  const auto refused = [](const std::string& text) { return refusal(text, kTwo); };
  EXPECT_EQ(refused("AllGather_X(A[I_X, J]) -> A[I_X, J]"), "AllGather_X of A[I_X, J] makes A[I, J], not A[I_X, J]");
  EXPECT_EQ(refused("AllGather_Y(A[I_X, J])"), "AllGather_Y of A[I_X, J]: axis Y shards no dim of it");
  EXPECT_EQ(refused("AllGather_Q(A[I_X, J])"), "AllGather_Q of A[I_X, J]: mesh {X:2, Y:3} has no axis Q");
  EXPECT_EQ(refused("AllReduce_Y(A[I_X, J]{U_Y}) -> A[I_X, J_Y]"),
            "AllReduce_Y of A[I_X, J]{U_Y} makes A[I_X, J], not A[I_X, J_Y]");
  EXPECT_EQ(refused("AllReduce_X(A[I, J])"), "AllReduce_X of A[I, J]: nothing is owed on X");
  EXPECT_EQ(refused("ReduceScatter_X(A[I, J]{U_X})"),
            "ReduceScatter_X shards a dim of A[I, J]{U_X}: name it, as in ReduceScatter_{X,J}, or give the result");
  EXPECT_EQ(refused("ReduceScatter_X(A[I, J]{U_X}) -> A[I, J]"),
            "ReduceScatter_X of A[I, J]{U_X} does not make A[I, J]");
  EXPECT_EQ(refused("AllReduceMax_X(A[I, J]{U_X})"),
            "AllReduceMax_X of A[I, J]{U_X}: maxima that are owed are written {Max_X}");
  EXPECT_EQ(refused("ReduceScatter_{X,I}(A[I, J]{Max_X})"),
            "ReduceScatter_XI of A[I, J]{Max_X}: it takes sums; maxima take AllReduceMax");
  EXPECT_EQ(refused("Slice_X(A[I_X, J]) -> A[I, J_X]"), "Slice_X of A[I_X, J]: it has axis X already");
  EXPECT_EQ(refused("Reshard_X(A[I_X, J])"), "Reshard_X of A[I_X, J] may make many layouts: give the result");
  EXPECT_EQ(refused("Reshard_Y(A[I_X, J]) -> A[I, J_X]"),
            "Reshard_Y of A[I_X, J] does not make A[I, J_X]: a reshard is over all axes of the dims that change, and "
            "settles no debt");
}

TEST(ProductRules, RefusesAnotherWireThanTheSumsHave) {
  const auto refused = [&](DType dtype) {
    const Product product = make("A[I, J] = AllReduce_X(A[I, J]{U_X}) over wire exchange", kTwo, "X=2,Y=3", dtype);
    const roofline::Hardware chip = roofline::hardware_named("v5e", product.mesh, dtype);
    return usage_message([&] { return product.candidates(chip); });
  };
  EXPECT_EQ(refused(DType::bf16), "\"over wire exchange\" is written, but sums of bf16 on v5e go over wire hop");
  EXPECT_EQ(refused(DType::f32), "\"over wire exchange\" is written, but f32 has one wire, which has no name");
}

TEST(ProductRules, RefusesDimsThatDoNotFit) {
  EXPECT_EQ(refusal("A[I, J] * B[K] -> C[I, K]"),
            "dim J of A[I, J] is in no other operand and not in the result C[I, K]: only a dim of two operands can be "
            "summed over");
  EXPECT_EQ(refusal("A[I] * B[J, K] -> C[I, K]"),
            "dim J of B[J, K] is in no other operand and not in the result C[I, K]: only a dim of two operands can be "
            "summed over");
  EXPECT_EQ(refusal("A[I, J] * B[J, K] -> C[I, K, L]"),
            "dim L of the result C[I, K, L] is in no operand; the result has dims of its operands");
}

TEST(ProductRules, RefusesAxes) {
  EXPECT_EQ(refusal("A[I, J_Z] * B[J, K] -> C[I, K]"),
            "A[I, J_Z]: dim J is sharded over axis Z, which mesh {X:2, Y:3} does not have");
  EXPECT_EQ(refusal("A[I_X, J_X] * B[J, K] -> C[I, K]"),
            "A[I_X, J_X]: axis X is used twice (again on dim J); mesh {X:2, Y:3}");
}

TEST(ProductRules, RefusesSizes) {
  EXPECT_EQ(refusal("A[I, J] * B[J, K] -> C[I, K]", {{"I", 4}, {"K", 8}}),
            "dim J of A[I, J] has no size; give it as J=1024");
  EXPECT_EQ(refusal("A[I, J] * B[J, K] -> C[I, K]", {{"I", 4}, {"J", 0}, {"K", 8}}), "size J=0 is not positive");
  EXPECT_EQ(refusal("A[I, J] * B[J, K] -> C[I, K]", {{"I", 4}, {"J", 6}, {"K", 8}, {"L", 2}}),
            "size L=2 is given, but no array has a dim L");
  EXPECT_EQ(refusal("A[I, J] * B[J, K] -> C[I, K]", {{"I", 1LL << 40}, {"J", 1LL << 40}, {"K", 8}}),
            "A[I, J] would have 1.21e+24 elements, more than can be counted");
}

TEST(ProductRules, RefusesDebts) {
  EXPECT_EQ(refusal("A[I, J]{Max_X} * B[J, K] -> C[I, K]"),
            "A[I, J]{Max_X}: a product can carry sums that are owed, {U_...}, but no maxima");
  EXPECT_EQ(refusal("A[I_X, J] * B[J, K] -> C[I, K]{U_X}"),
            "the result C[I, K]{U_X} cannot owe on X: no operand owes on it or has it on a dim that is summed over");
  EXPECT_EQ(refusal("A[I, J_X] * B[J, K] -> C[I, K]{U_X}"), "nothing was refused");
  EXPECT_EQ(refusal("A[I, J] * B[J, K]{U_X} -> C[I, K]{U_X}"), "nothing was refused");
}

std::vector<DimNames> made(const std::string& text) {
  const ParsedProduct parsed = parse_product(text);
  std::vector<DimNames> operands;
  for (const ParsedArray& operand : parsed.operands) operands.push_back(operand.dims);
  return chain_dims(operands, parsed.result->dims);
}

TEST(Chain, WhatEachProductMakes) {
  using Made = std::vector<DimNames>;
  EXPECT_EQ(made("A[I, J] * B[J, K] -> C[I, K]"), (Made{{"I", "K"}}));
  EXPECT_EQ(made("A[I, J] * B[J, K] * C[K, L] -> D[I, L]"), (Made{{"I", "K"}, {"I", "L"}}));
  // The product sums over D, and W_out brings another D.
  EXPECT_EQ(made("In[B, D] * W_in[D, F] * W_out[F, D] -> Out[B, D]"), (Made{{"B", "F"}, {"B", "D"}}));
  EXPECT_EQ(made("In[B, D] * V[D, F] * W[F, D] * V2[D, F] * W2[F, D] -> Out[B, D]"),
            (Made{{"B", "F"}, {"B", "D"}, {"B", "F"}, {"B", "D"}}));
  // B is a batch dim throughout: each product has another dim to sum over.
  EXPECT_EQ(made("P[B, T, D] * Q[B, D, F] * S[B, F, H] -> R[B, T, H]"), (Made{{"B", "T", "F"}, {"B", "T", "H"}}));
  // If I were summed at once, no sum would be left for the end: elementwise.
  EXPECT_EQ(made("A[I] * B[I] * C[I] -> D[I]"), (Made{{"I"}, {"I"}}));
  // J is in a later operand and not in the result: it is summed with that operand.
  EXPECT_EQ(made("A[I, J] * B[J, K] * C[K, J] -> D[I]"), (Made{{"I", "J", "K"}, {"I"}}));
  EXPECT_EQ(made("A[I] * B[J] * C[J, K] -> D[I, K]"), (Made{{"I", "J"}, {"I", "K"}}));
}

/// Every product could sum over a dim of the next operand, but none does.
TEST(Chain, ALongElementwiseOneIsReadAtOnce) {
  const DimNames dims{"I", "J", "K"};
  const std::vector<DimNames> operands(60, dims);
  EXPECT_EQ(chain_dims(operands, dims), std::vector<DimNames>(59, dims));
}

TEST(Chain, RefusesWhatCanBeReadInTwoWays) {
  EXPECT_EQ(usage_message([] { made("A[H, D] * B[H, D, F] * C[F, H, D] -> O[H, D]"); }),
            "the product [H, D] * [H, D, F] within the chain may sum over any of H, D, which later operands have too; "
            "give dims that are not to be summed there together names of their own");
}

TEST(Chain, NamesWhatItMakes) {
  const Product product = make("A[I, J] * T1[J, K] * C[K, I] * D[I, J] -> E[I, J]");
  EXPECT_EQ(to_string(product.program.array(product.program.operations[0].results[0])), "T2[I, J, K]");
  EXPECT_EQ(to_string(product.program.array(product.program.operations[1].results[0])).substr(0, 2), "T3");
}

TEST(Chain, DebtsFollowTheDims) {
  const std::string chain = "A[I, J] * B[J_X, K] * C[K, J_Y] -> D[I, J]";
  EXPECT_EQ(refusal(chain + "{U_X}"), "nothing was refused");
  EXPECT_EQ(refusal("A[I, J] * B[J_X, K] * C[K, J_Y] -> D[I, J]{U_Y}"),
            "the result D[I, J]{U_Y} cannot owe on Y: no operand owes on it or has it on a dim that is summed over");
}

TEST(Sizes, AreReadWithOrWithoutSpace) {
  const std::map<std::string, Index> expected{{"I", 5}, {"J", 7}};
  EXPECT_EQ(parse_sizes("I=5,J=7"), expected);
  EXPECT_EQ(parse_sizes(" J = 7 ,  I= 5 "), expected);
  EXPECT_TRUE(parse_sizes("").empty());
}

TEST(Sizes, AreRefusedByName) {
  const auto refused = [](const std::string& text) { return usage_message([&] { parse_sizes(text); }); };
  EXPECT_EQ(refused("I=5,J"), "sizes \"I=5,J\": \"J\" is no size; write dims and sizes as in I=1024,J=512");
  EXPECT_EQ(refused("I=5,"), "sizes \"I=5,\": \"\" is no size; write dims and sizes as in I=1024,J=512");
  EXPECT_EQ(refused("I=5k"), "size I: \"5k\" is not a whole number up to 9223372036854775807");
  EXPECT_EQ(refused("I=9223372036854775808"),
            "size I: \"9223372036854775808\" is not a whole number up to 9223372036854775807");
  EXPECT_EQ(refused("I=-1"), "size I=-1 is not positive");
  EXPECT_EQ(refused("I=5,I=6"), "sizes \"I=5,I=6\": dim I is given twice");
}

}  // namespace
}  // namespace shardline
