#include "program/cut/move_numbers.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/program/cut/staged.h"

namespace shardline {
namespace {

constexpr TaskKind F = TaskKind::forward;
constexpr TaskKind B = TaskKind::backward;
constexpr TaskKind I = TaskKind::inputs;

/// F0 goes to stage 1, B1 or I1 to stage 0: three kinds of moves with a number for each of three micro-batches, and
/// then the update.
TEST(MoveNumbers, CountMicroBatchesWithinEachKindOfMove) {
  const RankProgram micro = micro_step("dp=X,tp=Y", 4, false);
  const Cut cut(micro, spread({0, 1}));
  const MoveNumbers numbers(cut, 3);
  EXPECT_EQ(numbers.of({F, 0, 0}, 1), 0);
  EXPECT_EQ(numbers.of({F, 0, 2}, 1), 2);
  EXPECT_EQ(numbers.of({B, 1, 0}, 0), 3);
  EXPECT_EQ(numbers.of({I, 1, 1}, 0), 7);
  EXPECT_EQ(numbers.of_update(0), 9);
  EXPECT_EQ(numbers.of_update(5), 14);
}

TEST(MoveNumbers, NoTwoMovesHaveTheSame) {
  constexpr Index kMicroBatches = 5;
  for (const bool tied : {false, true}) {
    const RankProgram micro = micro_step("fsdp=X,tp_seq=Y", 4, tied);
    const Cut cut(micro, spread({0, 1, 2, 2, 1, 0}));
    const MoveNumbers numbers(cut, kMicroBatches);
    std::set<int> seen;
    Index moves = 0;
    for (const auto& [task, stages] : cut.sends({F, B, I})) {
      for (const int to : stages) {
        for (Index batch = 0; batch < kMicroBatches; ++batch, ++moves) {
          seen.insert(numbers.of({task.kind, task.chunk, batch}, to));
        }
      }
    }
    for (std::size_t i = 0; i < cut.update().size(); ++i, ++moves) seen.insert(numbers.of_update(i));
    ASSERT_GT(moves, 3 * kMicroBatches);
    EXPECT_EQ(static_cast<Index>(seen.size()), moves);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), moves - 1) << "no number is left out";
  }
}

}  // namespace
}  // namespace shardline
