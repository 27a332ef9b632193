// Compares reshard_plan() with brute force: the holders and the receivers of each element of small arrays.

#include <gtest/gtest.h>

#include <map>

#include "collectives/schedule/reshard_plan.h"
#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"
#include "tests/collectives/shardings.h"

namespace shardline::collectives {
namespace {

bool inside(const Box& box, Index i, Index j) {
  return box[0].begin <= i && i < box[0].end && box[1].begin <= j && j < box[1].end;
}

/// A rank gets every wanted element exactly once, from a holder, and from itself if it is one. The messages of
/// sender and receiver agree.
void check_plan(const Shape& shape, const Sharding& from, const Sharding& to, const AbstractMesh& mesh) {
  std::vector<ReshardPlan> plans;
  for (Index rank = 0; rank < mesh.ranks(); ++rank) plans.push_back(reshard_plan(shape, from, to, mesh, rank));
  for (Index rank = 0; rank < mesh.ranks(); ++rank) {
    const ReshardPlan& plan = plans[static_cast<std::size_t>(rank)];
    const std::vector<Index> group = mesh.group(rank, plan.axes);
    ASSERT_EQ(group[static_cast<std::size_t>(plan.position)], rank);
    std::map<std::pair<Index, Index>, std::vector<Index>> sources;
    for (std::size_t q = 0; q < group.size(); ++q) {
      const Box& piece = plan.receives[q];
      const ReshardPlan& sender = plans[static_cast<std::size_t>(group[q])];
      ASSERT_EQ(piece, sender.sends[static_cast<std::size_t>(plan.position)]);
      for (Index i = piece[0].begin; i < piece[0].end; ++i) {
        for (Index j = piece[1].begin; j < piece[1].end; ++j) {
          ASSERT_TRUE(inside(box(shape, from, mesh, group[q]), i, j)) << "sent by a rank that does not hold it";
          sources[{i, j}].push_back(group[q]);
        }
      }
    }
    const Box held = box(shape, from, mesh, rank);
    const Box wanted = box(shape, to, mesh, rank);
    for (Index i = 0; i < shape[0]; ++i) {
      for (Index j = 0; j < shape[1]; ++j) {
        const std::vector<Index>& from_ranks = sources[{i, j}];
        ASSERT_EQ(from_ranks.size(), inside(wanted, i, j) ? 1U : 0U) << "element " << i << ", " << j;
        if (inside(wanted, i, j) && inside(held, i, j)) {
          ASSERT_EQ(from_ranks[0], rank) << "moved without need";
        }
      }
    }
  }
}

void check_all_pairs(const Shape& shape, const std::vector<Sharding>& shardings, const AbstractMesh& mesh) {
  for (const Sharding& from : shardings) {
    for (const Sharding& to : shardings) {
      check_plan(shape, from, to, mesh);
      ASSERT_FALSE(testing::Test::HasFatalFailure())
          << to_string(shape) << " on " << mesh.to_string() << ": " << to_string("A", {"I", "J"}, from) << " to "
          << to_string("A", {"I", "J"}, to);
    }
  }
}

TEST(ReshardPlan, MatchesBruteForceForAllPairs) {
  for (const auto& mesh : {AbstractMesh({{"X", 2}, {"Y", 2}}), AbstractMesh({{"X", 2}, {"Y", 3}})}) {
    for (const Shape& shape : {Shape{5, 7}, Shape{1, 4}, Shape{0, 3}}) {
      check_all_pairs(shape, all_shardings(2, mesh.axes()), mesh);
    }
  }
}

TEST(ReshardPlan, MatchesBruteForceForThreeAxesOnOneDim) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 1}, {"Z", 3}});
  std::vector<Sharding> shardings = all_shardings(1, mesh.axes());
  for (Sharding& sharding : shardings) sharding.dims.push_back({});
  check_all_pairs({7, 1}, shardings, mesh);
}

TEST(ReshardPlan, LeavesOutAxesOfDimsThatStay) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}, {"Z", 2}});
  const ReshardPlan plan = reshard_plan({8, 9}, {{{"Z"}, {"X"}}, {}}, {{{"Z"}, {"Y"}}, {}}, mesh, 0);
  EXPECT_EQ(plan.axes, (Axes{"X", "Y"}));
  EXPECT_TRUE(reshard_plan({8, 9}, {{{"X"}, {}}, {}}, {{{"X"}, {}}, {}}, mesh, 0).axes.empty());
}

TEST(ReshardPlan, RefusesDebtsThatChange) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}});
  const Sharding owed{{{"X"}, {}}, {"Y"}};
  EXPECT_THROW(reshard_plan({8, 9}, owed, {{{}, {}}, {}}, mesh, 0), UsageError);
  EXPECT_THROW(reshard_plan({8, 9}, owed, {{{}, {}}, {"Y"}, ReduceOp::max}, mesh, 0), UsageError);
  EXPECT_THROW(reshard_plan({8, 9}, owed, {{{"Y"}, {}}, {"Y"}}, mesh, 0), UsageError);
  EXPECT_EQ(reshard_plan({8, 9}, owed, {{{}, {"X"}}, {"Y"}}, mesh, 0).axes, (Axes{"X"}));
}

}  // namespace
}  // namespace shardline::collectives
