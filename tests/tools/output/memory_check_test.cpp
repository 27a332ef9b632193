#include "tools/output/memory_check.h"

#include <gtest/gtest.h>

namespace shardline::tools {
namespace {

MemoryBound shared_bound(const std::string& name, std::uint64_t id, double limit, double left) {
  return {.name = name, .id = id, .limit = Bytes(limit), .left = Bytes(left)};
}

MemoryBound own_bound(double limit, double left) {
  return {.name = "ulimit -v", .own = true, .limit = Bytes(limit), .left = Bytes(left)};
}

class MemoryCheck : public ::testing::Test {
 protected:
  mpi::Communicator world_ = mpi::Communicator::world();
  const double ranks_ = world_.size();  // all on this machine
};

TEST_F(MemoryCheck, RanksThatShareABoundNeedTheirMemoryTogether) {
  const MemoryNeed need{Bytes(60), Bytes(40)};
  EXPECT_FALSE(memory_shortage(world_, need, {shared_bound("free memory", 0, 1e6, 100 * ranks_)}));
  const auto shortage = memory_shortage(world_, need, {shared_bound("free memory", 0, 1e6, 100 * ranks_ - 1)});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->bound, "free memory");
  EXPECT_EQ(shortage->ranks, world_.size());
  EXPECT_EQ(shortage->needed, Bytes(100 * ranks_));
  EXPECT_EQ(shortage->left, Bytes(100 * ranks_ - 1));
  EXPECT_FALSE(shortage->per_rank);
  EXPECT_FALSE(shortage->fits(need));
  EXPECT_TRUE(shortage->fits({Bytes(60), Bytes(39)}));
}

TEST_F(MemoryCheck, UnevenNeedsAdd) {
  const double mine = 10.0 * (world_.rank() + 1);
  const double all = 10 * ranks_ * (ranks_ + 1) / 2;
  EXPECT_FALSE(memory_shortage(world_, {Bytes(mine), Bytes(0)}, {shared_bound("free memory", 0, 1e6, all)}));
  EXPECT_TRUE(memory_shortage(world_, {Bytes(mine), Bytes(0)}, {shared_bound("free memory", 0, 1e6, all - 1)}));
}

TEST_F(MemoryCheck, EachRankInAGroupOfItsOwnNeedsItsOwnMemoryThere) {
  const auto id = static_cast<std::uint64_t>(100 + world_.rank());
  const std::vector<MemoryBound> bounds{shared_bound("free memory", 0, 1e6, 1e6), shared_bound("task", id, 150, 100)};
  EXPECT_FALSE(memory_shortage(world_, {Bytes(60), Bytes(40)}, bounds));
  const auto shortage = memory_shortage(world_, {Bytes(61), Bytes(40)}, bounds);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->bound, "task");
  EXPECT_EQ(shortage->ranks, 1);
}

TEST_F(MemoryCheck, ALimitOfTheProcessCountsTheSharedMemoryOfAll) {
  const std::vector<MemoryBound> bounds{own_bound(1000, 60 + 40 * ranks_)};
  EXPECT_FALSE(memory_shortage(world_, {Bytes(60), Bytes(40)}, bounds));
  const auto shortage = memory_shortage(world_, {Bytes(61), Bytes(40)}, bounds);
  ASSERT_TRUE(shortage);
  EXPECT_TRUE(shortage->per_rank);
  EXPECT_EQ(shortage->needed, Bytes(61 + 40 * ranks_));
  EXPECT_TRUE(shortage->fits({Bytes(60), Bytes(40)}));
  EXPECT_FALSE(shortage->fits({Bytes(61), Bytes(40)}));
}

TEST_F(MemoryCheck, WhatOneRankLacksAllRanksKnow) {
  const bool last = world_.rank() == world_.size() - 1;
  const auto shortage = memory_shortage(world_, {Bytes(100), Bytes(0)}, {own_bound(1e6, last ? 7 : 1e6)});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->bound, "ulimit -v");
  EXPECT_EQ(shortage->left, Bytes(7));
}

TEST_F(MemoryCheck, TheBoundWithTheMostMissingIsNamed) {
  const auto shortage = memory_shortage(world_, {Bytes(100), Bytes(0)},
                                        {shared_bound("free memory", 0, 1e6, 50 * ranks_),
                                         shared_bound("cgroup /job (memory.max)", 7, 1e6, 20 * ranks_)});
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->bound, "cgroup /job (memory.max)");
}

TEST_F(MemoryCheck, NothingLeftIsAShortageAndNothingNeededIsNone) {
  EXPECT_TRUE(memory_shortage(world_, {Bytes(1), Bytes(0)}, {shared_bound("free memory", 0, 1e6, 0)}));
  EXPECT_FALSE(memory_shortage(world_, {}, {shared_bound("free memory", 0, 1e6, 0)}));
  EXPECT_FALSE(memory_shortage(world_, {Bytes(1e30), Bytes(0)}, {}));
}

TEST_F(MemoryCheck, WhatDecidesBitsDependsOnLimitsAndNotOnWhatIsFree) {
  const auto limit = [&](double free_memory, double free_in_group) {
    return memory_limit_of_a_rank(world_, {shared_bound("free memory", 0, 1200 * ranks_, free_memory),
                                           shared_bound("cgroup /job (memory.max)", 7, 600 * ranks_, free_in_group),
                                           own_bound(900, free_in_group)});
  };
  EXPECT_EQ(limit(1000, 500), Bytes(600));
  EXPECT_EQ(limit(3, 2), limit(1000, 500));
}

}  // namespace
}  // namespace shardline::tools
