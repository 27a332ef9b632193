#include "program/timetable/timing.h"

#include <gtest/gtest.h>

#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

constexpr double kExact = 1e-9;

/// Figures of another simulation of the same rules, which was written in another language and shares no code.
struct Simulated {
  const char* name;
  int stages;
  Index micro_batches;
  bool uneven;  ///< the costs of uneven_pipeline(); if not, F = I = W = 1 for a stage
  double makespan;
  double bubble;
  double idle;
  std::vector<Index> held;
};

const std::vector<Simulated>& simulated_elsewhere() {
  static const std::vector<Simulated> rows{
      {"1f1b", 3, 7, false, 27, 0.2222222222, 6, {3, 2, 1}},
      {"gpipe", 3, 7, false, 27, 0.2222222222, 6, {7, 7, 7}},
      {"zb_h1", 3, 7, false, 23, 0.08695652174, 2, {3, 3, 3}},
      {"interleaved", 3, 7, false, 26, 0.1923076923, 5, {8, 6, 4}},
      {"interleaved_zb", 3, 7, false, 23, 0.08695652174, 2, {8, 7, 6}},
      {"zb_v", 3, 7, false, 22, 0.04545454545, 0.5, {6, 6, 6}},
      {"1f1b", 4, 6, false, 27, 0.3333333333, 9, {4, 3, 2, 1}},
      {"gpipe", 4, 6, false, 27, 0.3333333333, 9, {6, 6, 6, 6}},
      {"zb_h1", 4, 6, false, 21, 0.1428571429, 3, {4, 4, 4, 4}},
      {"interleaved", 4, 6, false, 24.5, 0.2653061224, 6.5, {10, 9, 7, 5}},
      {"interleaved_zb", 4, 6, false, 20.5, 0.1219512195, 2.5, {10, 10, 9, 8}},
      {"zb_v", 4, 6, false, 20, 0.1, 2, {8, 8, 8, 8}},
      {"1f1b", 4, 8, false, 33, 0.2727272727, 9, {4, 3, 2, 1}},
      {"gpipe", 4, 8, false, 33, 0.2727272727, 9, {8, 8, 8, 8}},
      {"zb_h1", 4, 8, false, 27, 0.1111111111, 3, {4, 4, 4, 4}},
      {"interleaved", 4, 8, false, 28.5, 0.1578947368, 4.5, {11, 9, 7, 5}},
      {"interleaved_zb", 4, 8, false, 25.5, 0.05882352941, 1.5, {11, 10, 9, 8}},
      {"zb_v", 4, 8, false, 25.5, 0.05882352941, 1.5, {8, 8, 8, 8}},
      {"1f1b", 8, 4, false, 33, 0.6363636364, 21, {4, 4, 4, 4, 4, 3, 2, 1}},
      {"gpipe", 8, 4, false, 33, 0.6363636364, 21, {4, 4, 4, 4, 4, 4, 4, 4}},
      {"zb_h1", 8, 4, false, 23, 0.4782608696, 11, {4, 4, 4, 4, 4, 4, 4, 4}},
      {"interleaved", 8, 4, false, 28.5, 0.5789473684, 16.5, {8, 8, 8, 8, 8, 8, 7, 5}},
      {"interleaved_zb", 8, 4, false, 21, 0.4285714286, 9, {8, 8, 8, 8, 8, 8, 8, 8}},
      {"zb_v", 8, 4, false, 19.5, 0.3846153846, 7.5, {8, 8, 8, 8, 8, 8, 8, 8}},
      {"1f1b", 1, 3, true, 9, 0, 0, {1}},
      {"gpipe", 1, 3, true, 9, 0, 0, {3}},
      {"zb_h1", 1, 3, true, 9, 0, 0, {1}},
      {"interleaved", 1, 3, true, 20.25, 0, 0, {2}},
      {"interleaved_zb", 1, 3, true, 20.25, 0, 0, {2}},
      {"zb_v", 1, 3, true, 20.25, 0, 0, {2}},
      {"1f1b", 2, 5, true, 21.85, 0.2276887872, 6.85, {2, 1}},
      {"gpipe", 2, 5, true, 21.85, 0.2276887872, 6.85, {5, 5}},
      {"zb_h1", 2, 5, true, 19.85, 0.1498740554, 4.85, {2, 2}},
      {"interleaved", 2, 5, true, 41.15, 0.1342648846, 4.3, {5, 3}},
      {"interleaved_zb", 2, 5, true, 38.25, 0.06862745098, 2.4, {5, 4}},
      {"zb_v", 2, 5, true, 42.9, 0.1695804196, 12.75, {4, 4}},
      {"1f1b", 3, 7, true, 38.45, 0.3172951886, 17.45, {3, 2, 1}},
      {"gpipe", 3, 7, true, 38.45, 0.3172951886, 17.45, {7, 7, 7}},
      {"zb_h1", 3, 7, true, 33.85, 0.2245199409, 12.85, {3, 3, 3}},
      {"interleaved", 3, 7, true, 74.6, 0.2962466488, 32.6, {8, 6, 4}},
      {"interleaved_zb", 3, 7, true, 67.75, 0.2250922509, 25.75, {8, 7, 6}},
      {"zb_v", 3, 7, true, 61, 0.1393442623, 8.5, {6, 6, 6}},
      {"1f1b", 4, 6, true, 35.65, 0.4004207574, 17.65, {4, 3, 2, 1}},
      {"gpipe", 4, 6, true, 37.05, 0.4230769231, 19.05, {6, 6, 6, 6}},
      {"zb_h1", 4, 6, true, 30.15, 0.2910447761, 12.15, {4, 4, 4, 4}},
      {"interleaved", 4, 6, true, 62.25, 0.2951807229, 21.75, {10, 9, 7, 5}},
      {"interleaved_zb", 4, 6, true, 51.65, 0.1505324298, 11.15, {10, 10, 9, 8}},
      {"zb_v", 4, 6, true, 57.65, 0.2389418907, 17.15, {8, 8, 8, 8}},
      {"1f1b", 4, 8, true, 44.65, 0.3617021277, 20.65, {4, 3, 2, 1}},
      {"gpipe", 4, 8, true, 46.05, 0.3811074919, 22.05, {8, 8, 8, 8}},
      {"zb_h1", 4, 8, true, 39.15, 0.2720306513, 15.15, {4, 4, 4, 4}},
      {"interleaved", 4, 8, true, 71.25, 0.1789473684, 17.25, {11, 9, 7, 5}},
      {"interleaved_zb", 4, 8, true, 67.3, 0.1307578009, 13.3, {11, 10, 9, 8}},
      {"zb_v", 4, 8, true, 79, 0.2594936709, 25, {8, 8, 8, 8}},
      {"1f1b", 5, 3, true, 25.9, 0.583011583, 16.9, {3, 3, 3, 2, 1}},
      {"gpipe", 5, 3, true, 27.4, 0.6058394161, 18.4, {3, 3, 3, 3, 3}},
      {"zb_h1", 5, 3, true, 19.9, 0.4572864322, 10.9, {3, 3, 3, 3, 3}},
      {"interleaved", 5, 3, true, 43.65, 0.4948453608, 21.15, {6, 6, 6, 6, 4}},
      {"interleaved_zb", 5, 3, true, 35.35, 0.3762376238, 14, {6, 6, 6, 6, 6}},
      {"zb_v", 5, 3, true, 36.4, 0.3942307692, 18.4, {4, 6, 6, 6, 6}},
      {"1f1b", 8, 4, true, 41.4, 0.6467391304, 29.4, {4, 4, 4, 4, 4, 3, 2, 1}},
      {"gpipe", 8, 4, true, 43.45, 0.663406214, 31.45, {4, 4, 4, 4, 4, 4, 4, 4}},
      {"zb_h1", 8, 4, true, 31.55, 0.5364500792, 19.55, {4, 4, 4, 4, 4, 4, 4, 4}},
      {"interleaved", 8, 4, true, 71.25, 0.5842105263, 41.25, {8, 8, 8, 8, 8, 8, 7, 5}},
      {"interleaved_zb", 8, 4, true, 55.75, 0.4686098655, 27.65, {8, 8, 8, 8, 8, 8, 8, 8}},
      {"zb_v", 8, 4, true, 58.25, 0.491416309, 34.25, {5, 8, 8, 8, 8, 8, 8, 8}},
      {"1f1b", 8, 20, true, 113.4, 0.3551587302, 53.4, {8, 7, 6, 5, 4, 3, 2, 1}},
      {"gpipe", 8, 20, true, 115.45, 0.3666089216, 55.45, {20, 20, 20, 20, 20, 20, 20, 20}},
      {"zb_h1", 8, 20, true, 99.45, 0.2647058824, 39.45, {8, 8, 8, 8, 8, 8, 8, 8}},
      {"interleaved", 8, 20, true, 199.35, 0.2569601204, 61.25, {23, 21, 19, 17, 15, 13, 11, 9}},
      {"interleaved_zb", 8, 20, true, 179.75, 0.1759388039, 43.65, {23, 22, 21, 20, 19, 18, 17, 16}},
      {"zb_v", 8, 20, true, 185.4, 0.2010517799, 65.4, {16, 16, 16, 16, 16, 16, 16, 16}},
  };
  return rows;
}

TEST(Timing, EqualsAnotherSimulation) {
  for (const Simulated& row : simulated_elsewhere()) {
    const auto [timetable, timing] = row.uneven ? uneven_pipeline(row.name, row.stages, row.micro_batches)
                                                : even_pipeline(row.name, row.stages, row.micro_batches);
    SCOPED_TRACE(std::string(row.name) + (row.uneven ? " uneven " : " even ") + std::to_string(row.stages) + " x " +
                 std::to_string(row.micro_batches));
    EXPECT_NEAR(timing.makespan.value, row.makespan, kExact);
    EXPECT_NEAR(timing.bubble(), row.bubble, kExact);
    EXPECT_NEAR(timing.idle().value, row.idle, kExact);
    std::vector<Index> activations;
    for (const Held& stage : held(timetable)) activations.push_back(stage.activations);
    EXPECT_EQ(activations, row.held);
  }
}

/// The longest idle time of a stage.
double idle(const std::string& name, int stages, Index micro_batches, const ChunkSeconds& seconds) {
  return even_pipeline(name, stages, micro_batches, seconds).timing.idle().value;
}

/// Published formulas, for F, I and W of a stage. One chunk for each stage.
TEST(Timing, IdleOfOneChunkEqualsThePublishedFormulas) {
  for (const ChunkSeconds& c : {ChunkSeconds{}, ChunkSeconds{1, 1.15, 0.85}, ChunkSeconds{2, 3, 1}}) {
    for (int S = 1; S <= 8; ++S) {
      for (Index M = 1; M <= 20; ++M) {
        const double whole = (S - 1) * (c.forward + c.inputs + c.weights);
        EXPECT_NEAR(idle("gpipe", S, M, c), whole, kExact) << S << ' ' << M;
        EXPECT_NEAR(idle("1f1b", S, M, c), whole, kExact) << S << ' ' << M;
        if (M >= S) {
          EXPECT_NEAR(idle("zb_h1", S, M, c), (S - 1) * (c.forward + c.inputs - c.weights), kExact) << S << ' ' << M;
        }
      }
    }
  }
}

TEST(Timing, IdleOfTwoChunksEqualsThePublishedFormulas) {
  constexpr int kDepth = 2;
  for (int S = 1; S <= 8; ++S) {
    for (Index M = S; M <= 4 * S; M += S) {
      for (const ChunkSeconds& c : {ChunkSeconds{}, ChunkSeconds{1, 1.15, 0.85}, ChunkSeconds{2, 3, 1}}) {
        const double whole = (S - 1) * (c.forward + c.inputs + c.weights);
        EXPECT_NEAR(idle("interleaved", S, M, c), whole / kDepth, kExact) << S << ' ' << M;
      }
      for (const double same : {1.0, 0.7}) {
        EXPECT_NEAR(idle("interleaved_zb", S, M, {same, same, same}), (S - 1) * same / kDepth, kExact) << S << ' ' << M;
      }
    }
  }
}

TEST(Timing, BubblesOfFourStagesAndEightMicroBatches) {
  EXPECT_NEAR(even_pipeline("1f1b", 4, 8).timing.bubble(), 0.273, 5e-4);
  EXPECT_NEAR(even_pipeline("zb_h1", 4, 8).timing.bubble(), 0.111, 5e-4);
  EXPECT_NEAR(even_pipeline("interleaved_zb", 4, 8).timing.bubble(), 0.059, 5e-4);
}

/// Z=0  F0 F1 .  .  .  .  B0 B0 B1 B1   with a move of 1 from each stage to the other
/// Z=1  .  .  F0 B0 B0 F1 B1 B1 .  .
TEST(Timing, MovesBesideTasksAreDelays) {
  const auto [timetable, timing] = even_pipeline("1f1b", 2, 2, {.move = 1});
  const auto begin = [&t = timetable, &timing = timing](TaskKind kind, int chunk, Index m) {
    return timing.begin[number_of(t, Task{kind, chunk, m})].value;
  };
  EXPECT_EQ(begin(TaskKind::forward, 1, 0), 2);
  EXPECT_EQ(begin(TaskKind::backward, 1, 0), 3);
  EXPECT_EQ(begin(TaskKind::forward, 1, 1), 5);
  EXPECT_EQ(begin(TaskKind::backward, 0, 0), 6);
  EXPECT_EQ(begin(TaskKind::backward, 0, 1), 9);
  EXPECT_EQ(timing.makespan, Seconds(11));
  EXPECT_EQ(timing.stages[0].busy, Seconds(6));
  EXPECT_EQ(timing.stages[0].moving, Seconds(0));
  EXPECT_EQ(timing.stages[0].idle(), Seconds(5));
  EXPECT_EQ(timing.stages[1].first, Seconds(2));
  EXPECT_EQ(timing.stages[1].idle(), Seconds(0));
  EXPECT_DOUBLE_EQ(timing.bubble(), 1 - 12.0 / 22);
}

/// Z=0  F0 F1 .  .  .  <  B0 B0 .  <  B1 B1   "<" is the move, of 1
/// Z=1  .  <  F0 B0 B0 <  F1 B1 B1
TEST(Timing, MovesByTheReceiverAreItsWork) {
  const auto [timetable, timing] = even_pipeline("1f1b", 2, 2, {.move = 1, .frees_cores = false});
  const auto begin = [&t = timetable, &timing = timing](TaskKind kind, int chunk, Index m) {
    return timing.begin[number_of(t, Task{kind, chunk, m})].value;
  };
  EXPECT_EQ(begin(TaskKind::forward, 1, 0), 2);
  EXPECT_EQ(begin(TaskKind::backward, 1, 0), 3);
  EXPECT_EQ(begin(TaskKind::forward, 1, 1), 6);
  EXPECT_EQ(begin(TaskKind::backward, 0, 0), 6);
  EXPECT_EQ(begin(TaskKind::backward, 1, 1), 7);
  EXPECT_EQ(begin(TaskKind::backward, 0, 1), 10);
  EXPECT_EQ(timing.makespan, Seconds(12));
  EXPECT_EQ(timing.stages[0].busy, Seconds(8));
  EXPECT_EQ(timing.stages[0].moving, Seconds(2));
  EXPECT_EQ(timing.stages[1].first, Seconds(1));
  EXPECT_EQ(timing.stages[1].idle(), Seconds(0));
  EXPECT_DOUBLE_EQ(timing.bubble(), 1 - 16.0 / 24);
}

TEST(Timing, ChunksOnOneStageHandOverForNothing) {
  for (const bool frees_cores : {true, false}) {
    EXPECT_EQ(even_pipeline("zb_v", 1, 4, {.move = 1, .frees_cores = frees_cores}).timing.makespan, Seconds(12));
  }
}

TEST(Timing, ForwardOnlyFillsAndDrainsOnce) {
  for (int S = 1; S <= 4; ++S) {
    for (const Index M : {1, 5}) {
      const Timetable evaluation = forward_only(even_pipeline("1f1b", S, M).timetable);
      EXPECT_EQ(timed(evaluation, {.forward = std::vector<Seconds>(static_cast<std::size_t>(S), Seconds(2))}).makespan,
                Seconds(2.0 * static_cast<double>(M + S - 1)));
    }
  }
}

/// F, I, W by hand: stage 1 does F0 I0 F1 I1 W0 W1.
TEST(Timing, HeldCountsWhatWeightsStillNeed) {
  const Timetable timetable = even_pipeline("zb_h1", 2, 2).timetable;
  EXPECT_EQ(held(timetable), (std::vector<Held>{{2, 1}, {2, 2}}));
  EXPECT_EQ(held(even_pipeline("1f1b", 2, 2).timetable), (std::vector<Held>{{2, 0}, {1, 0}}));
}

TEST(Timing, RefusesOrdersThatWaitForEachOther) {
  Timetable timetable = even_pipeline("1f1b", 2, 2).timetable;
  std::swap(timetable.orders[0][0], timetable.orders[0][2]);  // B0 before F0
  const TaskCosts costs = costs_by_chunk(2, {}, [](int) { return 1.0; });
  EXPECT_EQ(fault_message([&] { timed(timetable, costs); }),
            "timetable: its stages wait for each other: stage 0 at B0, stage 1 at F0");
}

}  // namespace
}  // namespace shardline
