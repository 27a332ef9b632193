#include "program/timetable/named.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

std::string order_of(const std::string& name, int stages, Index micro_batches, int stage) {
  return order_text(even_pipeline(name, stages, micro_batches).timetable, stage);
}

/// Orders as the papers draw them.
TEST(NamedTimetables, OrdersAreThoseOfThePapers) {
  EXPECT_EQ(order_of("gpipe", 2, 3, 0), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(order_of("1f1b", 4, 6, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  EXPECT_EQ(order_of("1f1b", 4, 6, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
  EXPECT_EQ(order_of("zb_h1", 3, 3, 0), "F0 F1 F2 I0 W0 I1 W1 I2 W2");
  EXPECT_EQ(order_of("zb_h1", 3, 3, 2), "F0 I0 F1 I1 F2 I2 W0 W1 W2");
  EXPECT_EQ(order_of("interleaved", 2, 4, 1), "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a");
  EXPECT_EQ(order_of("interleaved_zb", 2, 2, 1), "F0a F1a F0b I0b F1b I1b W0b I0a W1b I1a W0a W1a");
  EXPECT_EQ(order_of("zb_v", 2, 2, 0), "F0a F1a F0b I0b F1b I1b I0a W0b I1a W1b W0a W1a");
}

TEST(NamedTimetables, MicroBatchesThatFillNoGroupAreStruckOut) {
  EXPECT_EQ(order_of("interleaved", 2, 3, 1), "F0a F1a F0b B0b F1b B1b F2a B0a B1a F2b B2b B2a");
  EXPECT_EQ(order_of("interleaved", 3, 1, 0), "F0a F0b B0b B0a");
  EXPECT_EQ(order_of("zb_h1", 4, 2, 3), "F0 I0 F1 I1 W0 W1");
}

TEST(NamedTimetables, ChunksLieInALoopOrThereAndBack) {
  EXPECT_EQ(even_pipeline("1f1b", 3, 1).timetable.place, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(even_pipeline("interleaved", 3, 1).timetable.place, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(even_pipeline("zb_v", 3, 1).timetable.place, (std::vector<int>{0, 1, 2, 2, 1, 0}));
}

TEST(NamedTimetables, ListSchedulingGoesByCosts) {
  const Timetable even = even_pipeline("zb_v", 4, 6).timetable;
  EXPECT_NE(uneven_pipeline("zb_v", 4, 6).timetable, even);
  EXPECT_EQ(even_pipeline("zb_v", 4, 6).timetable, even);
  EXPECT_EQ(uneven_pipeline("interleaved_zb", 4, 6).timetable, even_pipeline("interleaved_zb", 4, 6).timetable);
}

TEST(NamedTimetables, LimitsOfWhatIsHeld) {
  EXPECT_EQ(held_limits({.name = "1f1b", .stages = 4, .micro_batches = 8}), (std::vector<Index>{4, 3, 2, 1}));
  EXPECT_EQ(held_limits({.name = "1f1b", .stages = 4, .micro_batches = 2}), (std::vector<Index>{2, 2, 2, 1}));
  EXPECT_EQ(held_limits({.name = "gpipe", .stages = 2, .micro_batches = 8}), (std::vector<Index>{8, 8}));
  EXPECT_EQ(held_limits({.name = "zb_h1", .stages = 3, .micro_batches = 8}), (std::vector<Index>{3, 3, 3}));
  EXPECT_EQ(held_limits({.name = "interleaved", .stages = 3, .micro_batches = 8}), (std::vector<Index>{8, 6, 4}));
  EXPECT_EQ(held_limits({.name = "interleaved_zb", .stages = 3, .micro_batches = 8}), (std::vector<Index>{8, 7, 6}));
  EXPECT_EQ(held_limits({.name = "zb_v", .stages = 3, .micro_batches = 8}), (std::vector<Index>{6, 6, 6}));
}

TEST(NamedTimetables, RefusesWhatIsIllegal) {
  const auto refusal = [](const TimetableRequest& request, const TaskCosts& costs) {
    try {
      make_timetable(request, costs);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  const auto costs_of_two = costs_by_chunk(2, {}, [](int) { return 1.0; });
  EXPECT_EQ(refusal({.name = "zb_h2", .stages = 2}, costs_of_two),
            "unknown timetable \"zb_h2\"; legal: 1f1b, gpipe, zb_h1, interleaved, interleaved_zb, zb_v");
  EXPECT_EQ(refusal({.name = "1f1b", .stages = 0}, {}), "a timetable of 0 stages; legal is 1 or more");
  EXPECT_EQ(refusal({.name = "1f1b", .stages = 2, .micro_batches = 0}, costs_of_two),
            "a timetable of 0 micro-batches; legal is 1 or more");
  EXPECT_EQ(refusal({.name = "zb_v", .stages = 2}, costs_of_two),
            "costs of tasks: F has 2 chunks; the timetable has 4");
  EXPECT_EQ(refusal({.name = "1f1b", .stages = 2}, {.forward = costs_of_two.forward}),
            "costs of tasks: B has 0 chunks; the timetable has 2");
  TaskCosts wrong = costs_of_two;
  wrong.backward[1] = Seconds(-1);
  EXPECT_EQ(refusal({.name = "1f1b", .stages = 2}, wrong),
            "costs of tasks: B takes -1 s; legal is a finite time, 0 or more");
  wrong = costs_of_two;
  wrong.move = Seconds(std::numeric_limits<double>::infinity());
  EXPECT_EQ(refusal({.name = "1f1b", .stages = 2}, wrong),
            "costs of tasks: a move takes inf s; legal is a finite time, 0 or more");
}

TEST(NamedTimetables, ForwardOnlyKeepsTheForwardTasks) {
  const Timetable evaluation = forward_only(even_pipeline("interleaved", 2, 3).timetable);
  EXPECT_EQ(order_text(evaluation, 0), "F0a F1a F0b F1b F2a F2b");
  EXPECT_EQ(evaluation.kinds, std::vector<TaskKind>{TaskKind::forward});
  EXPECT_EQ(held(evaluation), (std::vector<Held>{{1, 0}, {1, 0}}));
}

}  // namespace
}  // namespace shardline
