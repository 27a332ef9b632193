#include "tools/show.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>

#include "program/run/multiply.h"
#include "roofline/machine/catalogue.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"

namespace shardline::tools {
namespace {

std::string drawn(const std::string& mesh, const std::string& array, const std::string& sizes) {
  const AbstractMesh axes = AbstractMesh::parse(mesh);
  return "\n" + picture(axes, array_spec(array, parse_sizes(sizes), axes));
}

TEST(Show, MatrixCutByTwoAxes) {
  EXPECT_EQ(drawn("X=2,Y=2", "A[I_X, J_Y]", "I=4, J=6"), R"(
A[I_X, J_Y]: 4 x 6 in 4 blocks of 2 x 3 (24 B), each on one rank
          J 0:3             J 3:6
        +-----------------+-----------------+
  I 0:2 | rank 0  X=0 Y=0 | rank 1  X=0 Y=1 |
        +-----------------+-----------------+
  I 2:4 | rank 2  X=1 Y=0 | rank 3  X=1 Y=1 |
        +-----------------+-----------------+
)");
}

TEST(Show, AxisThatReplicatesListsAllRanks) {
  EXPECT_EQ(drawn("X=2,Y=2", "A[I, J_X]", "I=4, J=5"), R"(
A[I, J_X]: 4 x 5 in 2 blocks of at most 4 x 3 (48 B), each on 2 ranks
  = copies along Y
          J 0:3               J 3:5
        +-------------------+-------------------+
  I 0:4 |   rank 0  X=0 Y=0 |   rank 2  X=1 Y=0 |
        | = rank 1  X=0 Y=1 | = rank 3  X=1 Y=1 |
        +-------------------+-------------------+
)");
}

TEST(Show, PartialSumsAndTheirCopies) {
  EXPECT_EQ(drawn("X=2,Y=2,Z=1", "C[I, K]{U_X}", "I=4, K=6"), R"(
C[I, K]{U_X}: 4 x 6, unreduced (96 B) on 4 ranks
  = copies along Y
  + partial sums along X, still to be added up
          K 0:6
        +-------------------+
  I 0:4 |   rank 0  X=0 Y=0 |
        | + rank 2  X=1 Y=0 |
        | = rank 1  X=0 Y=1 |
        | + rank 3  X=1 Y=1 |
        +-------------------+
)");
}

TEST(Show, PartialMaximaOfAVector) {
  EXPECT_EQ(drawn("X=2,data=2", "m[I_X]{Max_{data}}", "I=2"), R"(
m[I_X]{Max_{data}}: 2 in 2 blocks of 1 (4 B), each on 2 ranks
  ^ partial maxima along data, of which the largest is still to be taken
    I 0:1                  I 1:2
  +----------------------+----------------------+
  |   rank 0  X=0 data=0 |   rank 2  X=1 data=0 |
  | ^ rank 1  X=0 data=1 | ^ rank 3  X=1 data=1 |
  +----------------------+----------------------+
)");
}

TEST(Show, TwoAxesOnOneDimNestAndLeaveEmptyBlocks) {
  EXPECT_EQ(drawn("X=2,Y=2", "A[I_YX, J]", "I=3, J=1"), R"(
A[I_YX, J]: 3 x 1 in 4 blocks of at most 1 x 1 (4 B), each on one rank
                J 0:1
              +-----------------+
  I 0:1       | rank 0  X=0 Y=0 |
              +-----------------+
  I 1:2       | rank 2  X=1 Y=0 |
              +-----------------+
  I 2:3       | rank 1  X=0 Y=1 |
              +-----------------+
  I 3:3 empty | rank 3  X=1 Y=1 |
              +-----------------+
)");
}

TEST(Show, ThreeAxesOnThreeDimsAreLayers) {
  EXPECT_EQ(drawn("X=2,Y=2,Z=2", "x[B_X, T_Y, H, D_Z]", "B=3, T=4, H=2, D=2"), R"(
x[B_X, T_Y, H, D_Z]: 3 x 4 x 2 x 2 in 8 blocks of at most 2 x 2 x 2 x 1 (32 B), each on one rank
  all of H in every block
  B 0:2
          D 0:1                 D 1:2
        +---------------------+---------------------+
  T 0:2 | rank 0  X=0 Y=0 Z=0 | rank 1  X=0 Y=0 Z=1 |
        +---------------------+---------------------+
  T 2:4 | rank 2  X=0 Y=1 Z=0 | rank 3  X=0 Y=1 Z=1 |
        +---------------------+---------------------+

  B 2:3
          D 0:1                 D 1:2
        +---------------------+---------------------+
  T 0:2 | rank 4  X=1 Y=0 Z=0 | rank 5  X=1 Y=0 Z=1 |
        +---------------------+---------------------+
  T 2:4 | rank 6  X=1 Y=1 Z=0 | rank 7  X=1 Y=1 Z=1 |
        +---------------------+---------------------+
)");
}

TEST(Show, OneCutDimOfManyIsAColumnOrARow) {
  EXPECT_EQ(drawn("X=2", "x[B_X, T, D]", "B=2, T=4, D=2"), R"(
x[B_X, T, D]: 2 x 4 x 2 in 2 blocks of 1 x 4 x 2 (32 B), each on one rank
  all of T and D in every block
        +-------------+
  B 0:1 | rank 0  X=0 |
        +-------------+
  B 1:2 | rank 1  X=1 |
        +-------------+
)");
  EXPECT_EQ(drawn("X=2", "x[B, T, D_X]", "B=2, T=4, D=2"), R"(
x[B, T, D_X]: 2 x 4 x 2 in 2 blocks of 2 x 4 x 1 (32 B), each on one rank
  all of B and T in every block
    D 0:1         D 1:2
  +-------------+-------------+
  | rank 0  X=0 | rank 1  X=1 |
  +-------------+-------------+
)");
}

TEST(Show, ScalarOnOneRank) {
  EXPECT_EQ(drawn("X=1", "L[]", ""), R"(
L[]: a scalar, whole (4 B) on one rank
  +--------+
  | rank 0 |
  +--------+
)");
}

TEST(Show, CoordinatesGoBelowTheirRankWhereColumnsNeedTheRoom) {
  EXPECT_EQ(drawn("X=8", "B[J, K_X]", "J=8, K=16"), R"(
B[J, K_X]: 8 x 16 in 8 blocks of 8 x 2 (64 B), each on one rank
          K 0:2    K 2:4    K 4:6    K 6:8    K 8:10   K 10:12   K 12:14   K 14:16
        +--------+--------+--------+--------+--------+---------+---------+---------+
  J 0:8 | rank 0 | rank 1 | rank 2 | rank 3 | rank 4 | rank 5  | rank 6  | rank 7  |
        | X=0    | X=1    | X=2    | X=3    | X=4    | X=5     | X=6     | X=7     |
        +--------+--------+--------+--------+--------+---------+---------+---------+
)");
}

TEST(Show, LargeMeshesAreCutAndTheRestCounted) {
  EXPECT_EQ(drawn("X=16,Y=1000", "A[I_X, J]", "I=1600, J=10"), R"(
A[I_X, J]: 1600 x 10 in 16 blocks of 100 x 10 (4.00 kB), each on 1000 ranks
  = copies along Y
                J 0:10
              +--------------------------+
  I 0:100     |   rank 0      X=0 Y=0    |
              | ... 998 more             |
              | = rank 999    X=0 Y=999  |
              +--------------------------+
  I 100:200   |   rank 1000   X=1 Y=0    |
              | ... 998 more             |
              | = rank 1999   X=1 Y=999  |
              +--------------------------+
  I 200:300   |   rank 2000   X=2 Y=0    |
              | ... 998 more             |
              | = rank 2999   X=2 Y=999  |
              +--------------------------+
  I 300:400   |   rank 3000   X=3 Y=0    |
              | ... 998 more             |
              | = rank 3999   X=3 Y=999  |
              +--------------------------+
  I 400:500   |   rank 4000   X=4 Y=0    |
              | ... 998 more             |
              | = rank 4999   X=4 Y=999  |
              +--------------------------+
  I 500:600   |   rank 5000   X=5 Y=0    |
              | ... 998 more             |
              | = rank 5999   X=5 Y=999  |
              +--------------------------+
  ... 9 more  | ...                      |
              +--------------------------+
  I 1500:1600 |   rank 15000  X=15 Y=0   |
              | ... 998 more             |
              | = rank 15999  X=15 Y=999 |
              +--------------------------+
)");
  EXPECT_EQ(drawn("X=16", "B[J, K_X]", "J=8, K=16"), R"(
B[J, K_X]: 8 x 16 in 16 blocks of 8 x 1 (32 B), each on one rank
          K 0:1     K 1:2     K 2:3     K 3:4     K 4:5     K 5:6     ... 9 more   K 15:16
        +---------+---------+---------+---------+---------+---------+------------+---------+
  J 0:8 | rank 0  | rank 1  | rank 2  | rank 3  | rank 4  | rank 5  | ...        | rank 15 |
        | X=0     | X=1     | X=2     | X=3     | X=4     | X=5     |            | X=15    |
        +---------+---------+---------+---------+---------+---------+------------+---------+
)");
}

/// A random array of 1 to 4 dims on a mesh of three axes. Each axis shards a dim, is unreduced, or replicates.
std::string random_picture(const CounterRng& random, Index number, Index most_per_axis) {
  Index draw = 100 * number;
  const auto below = [&](Index n) { return random.below(draw++, n); };
  const AbstractMesh mesh(
      {{"X", 1 + below(most_per_axis)}, {"Y", 1 + below(most_per_axis)}, {"Z", 1 + below(most_per_axis)}});
  const Index rank = 1 + below(4);
  ArraySpec array{
      .name = "A", .dims = {}, .shape = {}, .sharding = Sharding::replicated(static_cast<std::size_t>(rank))};
  for (Index d = 0; d < rank; ++d) {
    array.dims.emplace_back(1, static_cast<char>('I' + d));
    array.shape.push_back(1 + below(12));
  }
  for (const Axis& axis : mesh.axes()) {
    const Index role = below(rank + 2);
    if (role < rank) array.sharding.dims[static_cast<std::size_t>(role)].push_back(axis);
    if (role == rank) array.sharding.unreduced.push_back(axis);
  }
  return picture(mesh, array);
}

TEST(Show, EveryRankOfASmallMeshStandsInOneCell) {
  const CounterRng random(1, "small");
  for (Index i = 0; i < 300; ++i) {
    const std::string text = random_picture(random, i, 2);
    std::multiset<int> ranks;
    for (std::size_t at = text.find("rank "); at != std::string::npos; at = text.find("rank ", at + 1)) {
      if (std::isdigit(static_cast<unsigned char>(text[at + 5])) != 0) ranks.insert(std::stoi(text.substr(at + 5)));
    }
    const int count = ranks.empty() ? 0 : *ranks.rbegin() + 1;
    EXPECT_EQ(static_cast<int>(ranks.size()), count) << text;
    EXPECT_EQ(static_cast<int>(std::set<int>(ranks.begin(), ranks.end()).size()), count) << text;
    EXPECT_TRUE(count == 1 || count == 2 || count == 4 || count == 8) << text;
  }
}

TEST(Show, PicturesOfLargeMeshesStayWithinAScreen) {
  const CounterRng random(1, "large");
  for (Index i = 0; i < 300; ++i) {
    const std::string text = random_picture(random, i, 3000);
    std::istringstream lines(text);
    Index count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_TRUE(count == 0 || line.size() <= 100) << text;  // the title has the length of its dims and sizes
    }
    EXPECT_LE(count, 170) << text;
  }
}

TEST(Show, WhatIsNoShardingIsRefused) {
  const AbstractMesh mesh = AbstractMesh::parse("X=2");
  EXPECT_THROW(picture(mesh, {"A", {"I"}, {4}, {{{"Y"}}, {}, ReduceOp::sum}, DType::f32}), UsageError);
}

/// Also draws a gathered operand and partial sums, each layout once.
TEST(Show, ProgramsAreDrawnLayoutByLayout) {
  const Product product = make_product(parse_product("A[I, J_X] * B[J_X, K] -> C[I, K]"), parse_sizes("I=4,J=4,K=4"),
                                       AbstractMesh::parse("X=2"), {DType::f64, DType::f64});
  const std::string text =
      pictures(product.candidates(roofline::hardware_named("cpu", product.mesh, DType::f64)).at(0).program);
  const std::size_t a = text.find("A[I, J_X]: 4 x 4 in 2 blocks of 4 x 2 (64 B), each on one rank\n");
  const std::size_t b = text.find("\n\nB[J_X, K]: ");
  const std::size_t owed = text.find("\n\nC[I, K]{U_X}: ");
  const std::size_t c = text.find("\n\nC[I, K]: ");
  EXPECT_EQ(a, 0U) << text;
  EXPECT_TRUE(a < b && b < owed && owed < c && c != std::string::npos) << text;
}

}  // namespace
}  // namespace shardline::tools
