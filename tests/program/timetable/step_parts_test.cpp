// Where the time of a step goes. The expected parts are worked out by hand, or by the closed form of idle time.
#include "program/timetable/step_parts.h"

#include <gtest/gtest.h>

#include "program/timetable/named.h"
#include "runtime/base/check.h"

namespace shardline {
namespace {

/// GPipe with made times: those of a stage's tasks F, and of its tasks B.
struct MadeStep {
  Timetable timetable;
  StepTimes times;
};

MadeStep made_step(const TimetableRequest& request, const std::vector<Seconds>& forward,
                   const std::vector<Seconds>& backward) {
  MadeStep made{.timetable = make_timetable(request, {.forward = forward, .backward = backward}), .times = {}};
  made.times.tasks = std::vector<Seconds>(task_count(made.timetable));
  for (int stage = 0; stage < request.stages; ++stage) {
    for (Index batch = 0; batch < request.micro_batches; ++batch) {
      const auto z = static_cast<std::size_t>(stage);
      made.times.tasks[number_of(made.timetable, Task{TaskKind::forward, stage, batch})] = forward[z];
      made.times.tasks[number_of(made.timetable, Task{TaskKind::backward, stage, batch})] = backward[z];
    }
  }
  made.times.update = std::vector<Seconds>(forward.size());
  return made;
}

void expect_parts(const StepParts& parts, double computing, double start_and_end, double uneven, double moves) {
  EXPECT_DOUBLE_EQ(parts.computing.value, computing);
  EXPECT_DOUBLE_EQ(parts.start_and_end.value, start_and_end);
  EXPECT_DOUBLE_EQ(parts.uneven.value, uneven);
  EXPECT_DOUBLE_EQ(parts.moves.value, moves);
}

/// Z=0  F0 F1 .  .  .  .  .  B0 .  B1      F and B take 1 on stage 0 and 2 on stage 1: 10 in all. Evenly they would
/// take Z=1  .  F0 -  F1 -  B0 -  B1 -  .       1.5, and 9 in all, of which each stage is idle for 3.
TEST(StepParts, OfTwoUnevenStagesByHand) {
  MadeStep made = made_step({"gpipe", 2, 2}, {Seconds(1), Seconds(2)}, {Seconds(1), Seconds(2)});
  made.times.update = {Seconds(1), Seconds(3)};
  made.times.step = Seconds(15);  // 10, and 3 of the longer update; 2 are left for moves
  const std::vector<StepParts> parts = parts_of_step(made.timetable, made.times);
  expect_parts(parts.at(0), 4 + 1, 3, 5, 2);
  expect_parts(parts.at(1), 8 + 3, 2, 0, 2);
  expect_parts(mean(parts), 8, 2.5, 2.5, 2);
}

/// One slow task: the times of a kind differ from micro-batch to micro-batch.
TEST(StepParts, OfASlowTaskByHand) {
  MadeStep made = made_step({"gpipe", 2, 2}, {Seconds(1), Seconds(1)}, {Seconds(1), Seconds(1)});
  made.times.tasks[number_of(made.timetable, Task{TaskKind::forward, 0, 0})] = Seconds(5);
  made.times.step = Seconds(10);  // 5, then 5 tasks of which each needs the one before
  // Evenly: F takes 2, B takes 1, so that 9 pass and a stage works 6 of them.
  const std::vector<StepParts> parts = parts_of_step(made.timetable, made.times);
  expect_parts(parts.at(0), 8, 2, 0, 0);
  expect_parts(parts.at(1), 4, 3, 3, 0);
}

/// With even stages the start and the end take (S-1)(F+B), as papers say, and nothing else is lost except to moves.
TEST(StepParts, OfEvenStagesByTheClosedForm) {
  for (const std::string name : {"gpipe", "1f1b"}) {
    for (int S = 1; S <= 4; ++S) {
      for (Index M = 1; M <= 9; ++M) {
        const auto stages = static_cast<std::size_t>(S);
        MadeStep made =
            made_step({name, S, M}, std::vector<Seconds>(stages, Seconds(2)), std::vector<Seconds>(stages, Seconds(4)));
        made.times.step = Seconds(6.0 * static_cast<double>(M) + 6.0 * (S - 1) + 1);
        for (const StepParts& each : parts_of_step(made.timetable, made.times)) {
          expect_parts(each, 6.0 * static_cast<double>(M), 6.0 * (S - 1), 0, 1);
        }
      }
    }
  }
}

/// The clock may say that a step was shorter than its tasks allow. The parts still add up, and none is negative.
TEST(StepParts, AddUpForEveryStep) {
  MadeStep made = made_step({"1f1b", 3, 4}, {Seconds(1), Seconds(3), Seconds(2)}, {Seconds(2), Seconds(1), Seconds(5)});
  made.times.update = {Seconds(1), Seconds(0), Seconds(2)};
  for (const double step : {0.5, 10.0, 29.0, 30.0, 31.0, 40.0, 100.0}) {
    made.times.step = Seconds(step);
    for (const StepParts& each : parts_of_step(made.timetable, made.times)) {
      EXPECT_DOUBLE_EQ(each.step().value, step);
      for (const Seconds part : {each.computing, each.start_and_end, each.uneven, each.moves}) {
        EXPECT_GE(part.value, 0) << step;
      }
    }
  }
}

TEST(StepParts, EveryTaskAndStageHasATime) {
  MadeStep made = made_step({"gpipe", 2, 2}, {Seconds(1), Seconds(1)}, {Seconds(1), Seconds(1)});
  made.times.update.pop_back();
  EXPECT_THROW(parts_of_step(made.timetable, made.times), UsageError);
  made.times.update.emplace_back();
  made.times.tasks.pop_back();
  EXPECT_THROW(parts_of_step(made.timetable, made.times), UsageError);
}

}  // namespace
}  // namespace shardline
