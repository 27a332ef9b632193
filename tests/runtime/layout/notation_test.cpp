#include "runtime/layout/notation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/counter_rng.h"
#include "tests/runtime/message_of.h"

namespace shardline {
namespace {

std::string printed(const ParsedArray& array) { return to_string(array.name, array.dims, array.sharding); }

std::string refusal(const std::string& text) {
  return usage_message([&] { parse_product(text); });
}

TEST(Notation, ParsesArrays) {
  const ParsedArray array = parse_array("W_in[D_XY, F, H_{data,X1}]{U_Z}");
  EXPECT_EQ(array.name, "W_in");
  EXPECT_EQ(array.dims, (std::vector<std::string>{"D", "F", "H"}));
  EXPECT_EQ(array.sharding, (Sharding{{{"X", "Y"}, {}, {"data", "X1"}}, {"Z"}}));
  EXPECT_EQ(parse_array("A[I]{Max_{data,model}}").sharding, (Sharding{{{}}, {"data", "model"}, ReduceOp::max}));
  EXPECT_TRUE(parse_array("L[]").dims.empty());
  EXPECT_EQ(parse_array("L[]{U_XY}").sharding, (Sharding{{}, {"X", "Y"}}));
  EXPECT_EQ(printed(parse_array("A[I_{X,Y}]")), "A[I_XY]");
  EXPECT_EQ(parse_array("layers.3.wq[D]").name, "layers.3.wq");
}

TEST(Notation, SpaceIsFreeBetweenTokens) {
  EXPECT_EQ(printed(parse_array("  A [ I _ XY ,J_{ data , model } ] { Max _ Z } ")), "A[I_XY, J_{data,model}]{Max_Z}");
  EXPECT_EQ(printed(parse_array("A[I_X,\n\tJ]")), "A[I_X, J]");
}

TEST(Notation, ParsesProductsInEverySpelling) {
  for (const char* text : {"A[I, J_X] * B[J_X, K] -> C[I, K]{U_X}", "A[I,J_X]@B[J_X,K]->C[I,K]{U_X}",
                           "A[I, J_X] · B[J_X, K] → C[I, K] {U_X}", "A[I,J_X]·B[J_X,K]→C[I,K]{U_X}"}) {
    const ParsedProduct product = parse_product(text);
    ASSERT_EQ(product.operands.size(), 2U) << text;
    EXPECT_EQ(printed(product.operands[0]), "A[I, J_X]");
    EXPECT_EQ(printed(product.operands[1]), "B[J_X, K]");
    ASSERT_TRUE(product.result) << text;
    EXPECT_EQ(printed(*product.result), "C[I, K]{U_X}");
  }
}

/// The meaning of a text in the canonical form.
std::string meaning(const std::string& text) { return to_string(parse_product(text)); }

TEST(Notation, ParsesProductsAsTheBookWritesThem) {
  const std::string product = "C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]";
  for (const char* text :
       {"A[I, J_X] *_J B[J_X, K] -> C[I, K]{U_X}", "A[I, J_X] * _J B[J_X, K] -> C[I, K]{U_X}",
        "A[I, J_X] ·_J B[J_X, K] → C[I, K]{U_X}", "A[I, J_X] ⋅_{J} B[J_X, K] → C[I, K]{U_X}",
        "A[I, J_X] \\cdot_J B[J_X, K] \\rightarrow C[I, K]\\{U_X\\}",
        "A[I, J_X] \\cdot_J B\\left[J_X, K\\right] \\longrightarrow C[I, K]\\{U_X\\}",
        "A[I, J_X] *_J B[J_X, K] \\Rightarrow C[I, K]{U_X}", "A[I, J_X] *_J B[J_X, K] = C[I, K]{U_X}",
        "A[I, J_X] *_J B[J_X, K] ⇒ C[I, K]{U_X}", "A[I, J_X] *_J B[J_X, K] => C[I, K]{U_X}",
        "$\\mathbf{A}[I, J_X] \\cdot_{J} \\mathbf{B}[J_X, K]\\; \\to\\, \\textbf{C}[I, K]~\\{U_{X}\\}$",
        "**A**[I, J_X] *_J **B**[J_X, K] -> **C**[I, K]{U_X}", "C[I, K]{U_X} = A[I, J_X] *_J B[J_X, K]",
        "\\textbf{A}[I, J_X] \\cdot_\\text{J} \\textbf{B}[J_X, K] \\rightarrow C[I, K] \\{\\ U_X \\}",
        "\\mathbf{A}[I, J_X] *_J \\mathbf{B}[J_X, K] \\rightarrow &\\ \\mathbf{C}[I, K] \\\\{U_X\\\\} \\\\",
        "A[I, J<sub>X</sub>] •_J B[J<sub>X</sub>, K] \\implies C[I, K]{U<sub>X</sub>}",
        "A[I,\u2009J_X] \\cdot_{\\text{J}} B[J_X,\u00A0K] -> C[I, K]{U_X}"}) {
    EXPECT_EQ(meaning(text), product) << text;
  }
  EXPECT_EQ(meaning("A[I, J_X] \\cdot_{\\text{LOCAL}} B[J_X, K] \\rightarrow C[I, K]\\{U_X\\}"),
            "C[I, K]{U_X} = A[I, J_X] *_LOCAL B[J_X, K]");
  EXPECT_EQ(meaning("A[I, J_X] \\cdot_\\text{LOCAL} B[J_X, K] -> C[I, K]{U_X}"),
            "C[I, K]{U_X} = A[I, J_X] *_LOCAL B[J_X, K]");
  EXPECT_EQ(meaning("A_{1}[B] * W_{2x}[B]"), "A_1[B] * W_2x[B]");
  EXPECT_EQ(meaning("x[B] *_{Heads,J} W_{in}[B] × A'[B]"), "x[B] *_{Heads,J} W_in[B] * A'[B]");
}

TEST(Notation, ParsesCollectivesAsTheBookWritesThem) {
  const std::string gather = "A[I, J] = AllGather_XY(A[I_XY, J])";
  for (const char* text :
       {"\\text{AllGather}_{X,Y}(A[I_{X,Y}, J]) \\rightarrow A[I, J]", "AllGather_XY A[I_XY, J] -> A[I, J]",
        "\\textbf{AllGather}_{\\textbf{X},Y}(A[I_XY, J]) -> &\\ A[I, J]",
        "AllGather<sub>X,Y</sub>([I<sub>X,Y</sub>, J]) → [I, J]",
        "\\operatorname{AllGather}_{X Y} \\left( A[I_{X Y}, J] \\right) ⟶ A[I, J]",
        "AllGather_{X,Y}(A[I_XY, J]) = A[I, J]", "\\mathbf{AllGather}_{X,Y} : A[I_XY, J] → A[I, J]",
        "**AllGather**_{X,Y}([I_XY, J]) -> A[I, J]", "AllGather_XY[I_XY, J] -> A[I, J]",
        "A[I, J] = AllGather_XY(A[I_XY, J])", "AllGather_XY[I_XY, J] -> [I, J]"}) {
    EXPECT_EQ(meaning(text), gather) << text;
  }
  for (const char* arrow :
       {"->", "=>", "→", "⟶", "⇒", "\\rightarrow", "\\longrightarrow", "\\Rightarrow", "\\implies", "\\to"}) {
    EXPECT_EQ(meaning(fmt::format("A[I_X, J] {} A[I, J]", arrow)), "A[I, J] = A[I_X, J]") << arrow;
    EXPECT_EQ(meaning(fmt::format("A[I_X, J]{}B[J]", arrow)), meaning("B[J] = A[I_X, J]")) << arrow;
  }
  EXPECT_EQ(meaning("AllToAll_{X,J}(A[I_X, J])"), "AllToAll_XJ(A[I_X, J])");
  EXPECT_EQ(meaning("AllReduce(C[I]{U_X}) over wire hop"), "AllReduce(C[I]{U_X}) over wire hop");
  EXPECT_EQ(meaning("\\text{ReduceScatter}_X(A'[I]\\{U_X\\}) -> A'[I_X]"), "A'[I_X] = ReduceScatter_X(A'[I]{U_X})");
  EXPECT_EQ(meaning("[E_Y, F] -> [E, F]"), "A[E, F] = A[E_Y, F]");
  EXPECT_FALSE(parse_product("Slice[I] * AllGather[I] -> C[I]").collective);  // arrays with these names
  EXPECT_EQ(meaning("A[I_X, J]"), "A[I_X, J]");
}

TEST(Notation, RefusalsOfWhatTheBookWritesPointAtTheCharacter) {
  EXPECT_EQ(refusal("A[I] ·_J1 B[I]"),
            "a bare dim is one letter; other names go in braces, as in *_{J1}\n  A[I] ·_J1 B[I]\n          ^");
  EXPECT_EQ(refusal("A[I] \\cdot_1 B[I]"),
            "expected the letters of dims, or names in braces, as in *_JK or *_{heads,J}\n  A[I] \\cdot_1 B[I]\n"
            "             ^");
  EXPECT_EQ(refusal("A[I] ·_JJ B[I]"),
            "dim J is given twice; a name of several letters goes in braces, as in *_{heads}\n  A[I] ·_JJ B[I]\n"
            "          ^");
  EXPECT_EQ(refusal("[I] * B[I] -> C[I]"), "expected the name of an array here\n  [I] * B[I] -> C[I]\n  ^");
  EXPECT_EQ(refusal("A[I] → AllGather_X(A[I])"),
            "expected \"[\" after the name of an array here\n  A[I] → AllGather_X(A[I])\n                    ^");
  EXPECT_EQ(refusal("AllGather_X(A[I_X] → A[I]"),
            "expected \")\" after the array here\n  AllGather_X(A[I_X] → A[I]\n                     ^");
  EXPECT_EQ(refusal("AllGather_X(A[I_X]) * B[I]"),
            "expected \"->\" and the result, or the end here\n  AllGather_X(A[I_X]) * B[I]\n                      ^");
  EXPECT_EQ(refusal("\\mathbf{A[I]"), "expected \"}\" after A here\n  \\mathbf{A[I]\n           ^");
  EXPECT_EQ(refusal("A[I]\\{U_X} · B[I;]"),
            "expected \",\" or \"]\" after a dim here\n  A[I]\\{U_X} · B[I;]\n                  ^");
}

TEST(Notation, ParsesChainsAndProductsWithoutResult) {
  const ParsedProduct chain = parse_product("x[B, D] * W_in[D, F] · W_out[F, E] -> y[B, E]");
  EXPECT_EQ(chain.operands.size(), 3U);
  EXPECT_EQ(chain.result->name, "y");
  EXPECT_FALSE(parse_product("A[I, J] * B[J, K]").result);
  EXPECT_EQ(parse_product("A[I_X] -> A[I]").operands.size(), 1U);
}

TEST(Notation, ColumnsCountCharacters) {
  const ParsedProduct product = parse_product("A[I] · B[J] → C[I, J]");
  EXPECT_EQ(product.operands[0].column, 0U);
  EXPECT_EQ(product.operands[1].column, 7U);
  EXPECT_EQ(product.result->column, 14U);
}

TEST(Notation, RefusalsPointAtTheCharacter) {
  EXPECT_EQ(refusal("A[I_X; J]"), "expected \",\" or \"]\" after a dim here\n  A[I_X; J]\n       ^");
  EXPECT_EQ(refusal(""), "expected the name of an array here\n  \n  ^");
  EXPECT_EQ(refusal("A"), "expected \"[\" after the name of an array here\n  A\n   ^");
  EXPECT_EQ(refusal("A[I,]"), "expected the name of a dim here\n  A[I,]\n      ^");
  EXPECT_EQ(refusal("A[I, J"), "expected \",\" or \"]\" after a dim here\n  A[I, J\n        ^");
  EXPECT_EQ(refusal("A[I_, J]"),
            "expected the letters of axes, or names in braces, as in I_XY or I_{data,model}\n  A[I_, J]\n      ^");
  EXPECT_EQ(refusal("A[I_{}]"), "expected the name of an axis here\n  A[I_{}]\n       ^");
  EXPECT_EQ(refusal("A[I_{X]"), "expected \",\" or \"}\" after the name of an axis here\n  A[I_{X]\n        ^");
  EXPECT_EQ(refusal("A[I_X1]"),
            "a bare axis is one letter; other names go in braces, as in I_{X1}\n  A[I_X1]\n       ^");
  EXPECT_EQ(refusal("A[I_data]"),
            "axis a is given twice; a name of several letters goes in braces, as in I_{data}\n  A[I_data]\n         ^");
  EXPECT_EQ(refusal("A[I, I]"), "dim I is given twice in array A\n  A[I, I]\n       ^");
  EXPECT_EQ(refusal("A[I]{Min_X}"), "expected U_ or Max_ and the axes owed on, as in {U_X}\n  A[I]{Min_X}\n       ^");
  EXPECT_EQ(refusal("A[I]{Ux}"), "expected U_ or Max_ and the axes owed on, as in {U_X}\n  A[I]{Ux}\n       ^");
  EXPECT_EQ(refusal("A[I]{U_X"), "expected \"}\" after the axes owed on here\n  A[I]{U_X\n          ^");
  EXPECT_EQ(refusal("A[I] B[J]"),
            "expected \"*\" and another array, \"->\" and the result, or the end here\n  A[I] B[J]\n       ^");
  EXPECT_EQ(refusal("A[I] -> C[I] -> D[I]"),
            "expected the end of the product here\n  A[I] -> C[I] -> D[I]\n               ^");
  EXPECT_EQ(usage_message([] { parse_array("A[I] * B[I]"); }),
            "expected the end of the array here\n  A[I] * B[I]\n       ^");
}

TEST(Notation, CaretsCountCharactersNotBytes) {
  EXPECT_EQ(refusal("A[I] · B[J] → C[I,, J]"),
            "expected the name of a dim here\n  A[I] · B[J] → C[I,, J]\n                    ^");
  EXPECT_EQ(refusal("A[I] ·\tB[J"), "expected \",\" or \"]\" after a dim here\n  A[I] · B[J\n            ^");
  EXPECT_EQ(refusal("A[é]"), "expected the name of a dim here\n  A[é]\n    ^");
}

TEST(Notation, ResolvesLowerCaseAxesExactMatchFirst) {
  const AbstractMesh upper({{"X", 2}, {"Y", 2}, {"DATA", 1}});
  EXPECT_EQ(printed(resolve(parse_array("A[I_xY, J_{data}]"), upper)), "A[I_XY, J_{DATA}]");
  EXPECT_EQ(printed(resolve(parse_array("A[I]{U_yx}"), upper)), "A[I]{U_XY}");
  const AbstractMesh both({{"X", 2}, {"x", 2}});
  EXPECT_EQ(printed(resolve(parse_array("A[I_x, J_X]"), both)), "A[I_x, J_X]");
}

TEST(Notation, LettersOfOneWordAreAxesWhereAllOfThemAre) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 2}, {"Z", 2}});
  EXPECT_EQ(printed(resolve(parse_array("A[I_{XY}, J]"), mesh)), "A[I_XY, J]");
  EXPECT_EQ(printed(resolve(parse_array("A[I_{yX}, J_{Z}]"), mesh)), "A[I_YX, J_Z]");
  EXPECT_EQ(printed(resolve(parse_array("A[I]{U_{ZX}}"), mesh)), "A[I]{U_XZ}");
  EXPECT_EQ(printed(resolve(parse_array("A[I_{XY}]"), AbstractMesh({{"XY", 2}, {"X", 2}, {"Y", 2}}))), "A[I_{XY}]");
  EXPECT_EQ(usage_message([&] { resolve(parse_array("A[I_{XQ}]"), mesh); }),
            "A[I_{XQ}]: dim I is sharded over axis XQ, which mesh {X:2, Y:2, Z:2} does not have");
  EXPECT_NE(usage_message([&] { resolve(parse_array("A[I_{XX}]"), mesh); }), "nothing was refused");
}

TEST(Notation, ResolveRefusesWhatTheMeshDoesNotHave) {
  const AbstractMesh mesh({{"X", 2}, {"y", 2}});
  EXPECT_EQ(usage_message([&] { resolve(parse_array("A[I_z]"), mesh); }),
            "A[I_z]: dim I is sharded over axis z, which mesh {X:2, y:2} does not have");
  EXPECT_NE(usage_message([&] { resolve(parse_array("A[I_Y]"), mesh); }), "nothing was refused");
  EXPECT_EQ(usage_message([&] { resolve(parse_array("A[I_x, J_X]"), mesh); }),
            "A[I_X, J_X]: axis X is used twice (again on dim J); mesh {X:2, y:2}");
}

/// A random sharding that uses each of `axes` at most once.
ParsedArray random_array(const CounterRng& rng, Axes axes) {
  Index draw = 0;
  const auto below = [&](Index n) { return rng.below(draw++, n); };
  ParsedArray array;
  array.name = below(2) == 0 ? "A" : "dW_in.2";
  for (Index dims = below(4); dims > 0; --dims) {
    array.dims.push_back((below(2) == 0 ? "I" : "Heads") + std::to_string(dims));
    array.sharding.dims.emplace_back();
  }
  for (std::size_t i = axes.size(); i > 1; --i)
    std::swap(axes[i - 1], axes[static_cast<std::size_t>(below(static_cast<Index>(i)))]);
  const auto places = static_cast<Index>(array.dims.size());
  for (const Axis& axis : axes) {
    const Index place = below(places + 2);
    if (place < places) array.sharding.dims[static_cast<std::size_t>(place)].push_back(axis);
    if (place == places) array.sharding.unreduced.push_back(axis);
  }
  if (!array.sharding.unreduced.empty() && below(2) == 0) array.sharding.reduce = ReduceOp::max;
  return array;
}

TEST(Notation, WhatIsPrintedParsesToTheSame) {
  const std::vector<Axes> names{{"X", "Y", "Z"}, {"data", "model", "pipe_1"}, {"X", "y", "data", "Z2"}, {"q"}};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const ParsedArray array = random_array(CounterRng(seed, "notation"), names[seed % names.size()]);
    const std::string text = printed(array);
    const ParsedArray again = parse_array(text);
    EXPECT_EQ(again.name, array.name) << text;
    EXPECT_EQ(again.dims, array.dims) << text;
    EXPECT_EQ(again.sharding, array.sharding) << text;
    EXPECT_EQ(printed(again), text);
  }
}

}  // namespace
}  // namespace shardline
