// Words in tables with an explanation below, and numbers in plain digits.
#include "tools/output/words.h"
#include "runtime/base/lists.h"

#include <gtest/gtest.h>

#include "tools/output/text.h"

namespace shardline::tools {
namespace {

/// The explained words, one after the other.
std::string words(const std::string& text) {
  std::string found;
  for (const std::string& line : split(explained_words(text), '\n')) {
    if (!line.empty()) found += line.substr(0, line.find(':')) + ";";
  }
  return found;
}

TEST(Words, OnlyThoseOfTheTextAreExplainedEachInOneLine) {
  EXPECT_EQ(explained_words(""), "");
  EXPECT_EQ(explained_words("operation wire FLOPs\nC[I, K] = A[I, J] *_J B[J, K]\n"), "");
  EXPECT_EQ(words("candidate price T_math T_comms wire limiter\n"), "T_math;T_comms;");
  EXPECT_EQ(words("operation measured exposed predicted\n"), "exposed;");
  EXPECT_EQ(words("  A[I_Y, J] = Reshard_XY(A[I_X, J_Y])\n"), "Reshard;");
  EXPECT_EQ(words("1  81.2 us  Owe_X(A[I, J]), Reshard_X(B[J, K_X])"), "Reshard;Owe;");
  EXPECT_EQ(words("C[I, K] = AllReduce_X(C[I, K]{U_X}) over wire hop"), "wire hop;");
  EXPECT_EQ(words("ReduceScatter_X(C[I, K]{U_X}) over wire exchange, AllReduce_X(D[I, K]{U_X}) over wire f32"),
            "wire exchange;wire f32;");
}

TEST(Words, KindsOfATableAreKnownToo) {
  EXPECT_EQ(words("operation axis count\nowe X 3\nreshard XY 4\n"), "Reshard;Owe;");
  EXPECT_EQ(words("owe X 3"), "Owe;");
}

TEST(Words, NamesThatOnlyContainOneAreNone) {
  EXPECT_EQ(words("Power_X[I] T_mathx notexposed OverOwe_2 Reshard Owe showed owes"), "");
}

TEST(PlainNumber, HasNoExponent) {
  EXPECT_EQ(plain_number(262144), "262144");
  EXPECT_EQ(plain_number(1048576.0 * 1024), "1073741824");
  EXPECT_EQ(plain_number(1048.576), "1048.6");
  EXPECT_EQ(plain_number(262143.75), "262144");
  EXPECT_EQ(plain_number(0.25), "0.25");
  EXPECT_EQ(plain_number(0.00001), "0.000010000");
  EXPECT_EQ(plain_number(0), "0");
  EXPECT_EQ(plain_number(1e300), "1e+300");
  EXPECT_EQ(plain_number(1e-300), "1e-300");
  EXPECT_EQ(plain_number(-123456e12), "-1.235e+17");
  EXPECT_EQ(plain_number(-100000), "-100000");
}

}  // namespace
}  // namespace shardline::tools
