#include "runtime/layout/blocks.h"

#include <gtest/gtest.h>

namespace shardline {
namespace {

std::vector<Index> sizes(const std::vector<Range>& ranges) {
  std::vector<Index> result;
  for (const Range& range : ranges) result.push_back(range.size());
  return result;
}

std::vector<Index> block_sizes(Index n, Index parts) {
  return sizes(nested_blocks(n, {"X"}, AbstractMesh({{"X", parts}})));
}

TEST(Blocks, TheFirstOnesAreLarger) {
  EXPECT_EQ(block_sizes(5, 4), (std::vector<Index>{2, 1, 1, 1}));
  EXPECT_EQ(block_sizes(2, 4), (std::vector<Index>{1, 1, 0, 0}));
  EXPECT_EQ(block_sizes(0, 3), (std::vector<Index>{0, 0, 0}));
  EXPECT_EQ(block_sizes(12, 3), (std::vector<Index>{4, 4, 4}));
  EXPECT_EQ(block_sizes(7, 1), (std::vector<Index>{7}));
}

/// The oracle of block(): deals the positions 0, 1, ... one at a time, as in the rule.
TEST(Blocks, AgreeWithDealingOut) {
  for (Index parts = 1; parts <= 9; ++parts) {
    for (Index n = 0; n <= 40; ++n) {
      std::vector<Index> dealt(static_cast<std::size_t>(parts), 0);
      for (Index i = 0; i < n; ++i) ++dealt[static_cast<std::size_t>(i % parts)];
      Index begin = 0;
      for (Index p = 0; p < parts; ++p) {
        const Range expected{begin, begin + dealt[static_cast<std::size_t>(p)]};
        EXPECT_EQ(block(n, parts, p), expected) << n << " over " << parts << " at " << p;
        begin = expected.end;
      }
    }
  }
}

TEST(Blocks, NestWithTheMajorAxisFirst) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}});
  // 8 over X is 4, 4; each 4 over Y is 2, 1, 1.
  EXPECT_EQ(sizes(nested_blocks(8, {"X", "Y"}, mesh)), (std::vector<Index>{2, 1, 1, 2, 1, 1}));
  // 8 over Y is 3, 3, 2; over X then 2, 1, 2, 1, 1, 1.
  EXPECT_EQ(sizes(nested_blocks(8, {"Y", "X"}, mesh)), (std::vector<Index>{2, 1, 2, 1, 1, 1}));
}

TEST(Blocks, GatheringTheMinorAxisGivesTheBlocksOfTheMajor) {
  const AbstractMesh mesh({{"X", 3}, {"Y", 4}});
  for (const Index n : {0, 1, 5, 7, 11, 12, 13, 25}) {
    const std::vector<Range> fine = nested_blocks(n, {"X", "Y"}, mesh);
    const std::vector<Range> coarse = nested_blocks(n, {"X"}, mesh);
    for (std::size_t x = 0; x < 3; ++x) {
      EXPECT_EQ(fine[x * 4].begin, coarse[x].begin);
      EXPECT_EQ(fine[x * 4 + 3].end, coarse[x].end);
      for (std::size_t y = 0; y + 1 < 4; ++y) EXPECT_EQ(fine[x * 4 + y].end, fine[x * 4 + y + 1].begin);
    }
  }
}

TEST(Blocks, EachRankFindsItsOwnInTheList) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}});
  for (const Axes& axes : {Axes{"X", "Y"}, Axes{"Y", "X"}, Axes{"Y"}, Axes{}}) {
    const std::vector<Range> all = nested_blocks(11, axes, mesh);
    for (Index rank = 0; rank < mesh.ranks(); ++rank) {
      const auto position = static_cast<std::size_t>(mesh.position_in_group(rank, axes));
      EXPECT_EQ(nested_block(11, axes, mesh, mesh.coordinates(rank)), all[position]);
    }
  }
}

TEST(Blocks, BoxOfARank) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 4}});
  const Sharding sharding{{{"Y"}, {}, {}}, {"X"}};
  EXPECT_EQ(box({5, 3, 2}, sharding, mesh, 0), (std::vector<Range>{{0, 2}, {0, 3}, {0, 2}}));
  EXPECT_EQ(box({5, 3, 2}, sharding, mesh, 7), (std::vector<Range>{{4, 5}, {0, 3}, {0, 2}}));
  EXPECT_EQ(local_shape({2, 3, 2}, sharding, mesh, 2), (Shape{0, 3, 2}));
  EXPECT_EQ(largest_local_shape({5, 3, 2}, sharding, mesh), (Shape{2, 3, 2}));
  EXPECT_TRUE(box({}, {}, mesh, 3).empty());
}

}  // namespace
}  // namespace shardline
