#include "program/timetable/fastest.h"

#include <gtest/gtest.h>

#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

/// A question about `stages` whose chunks share `seconds`.
FastestQuestion question(int stages, Index micro_batches, const ChunkSeconds& seconds = {}) {
  return {.stages = stages,
          .micro_batches = micro_batches,
          .costs = [=](int depth) { return costs_by_chunk(stages * depth, seconds, [=](int) { return 1.0 / depth; }); },
          .fits = [](const Timetable&, const std::vector<Held>&) { return true; }};
}

/// The published idle times say who must win: with 4 stages and 8 micro-batches 9, 9, 3, 4.5 and 1.5.
TEST(Fastest, HasTheShortestMakespan) {
  const auto best = fastest(question(4, 8));
  ASSERT_TRUE(best);
  EXPECT_EQ(best->name, "interleaved_zb");
  EXPECT_EQ(best->timing.makespan, Seconds(25.5));
  EXPECT_EQ(best->timetable, even_pipeline("interleaved_zb", 4, 8).timetable);
}

TEST(Fastest, OfEqualsTheFirst) {
  EXPECT_EQ(fastest(question(1, 5))->name, "1f1b");
  EXPECT_EQ(fastest(question(1, 7, {.move = 0.1}))->name, "1f1b");
  // zb_h1 takes 0.6 and 1f1b 0.6000000000000001: only their sums are rounded in other ways.
  EXPECT_EQ(fastest(question(1, 2, {.forward = 0.1, .inputs = 0.1, .weights = 0.1}))->name, "1f1b");
}

/// 1f1b waits for a move there and back for each micro-batch, gpipe only once.
TEST(Fastest, CountsMoves) {
  FastestQuestion slow_links = question(4, 16, {.move = 5});
  slow_links.fits = [](const Timetable& timetable, const std::vector<Held>&) { return timetable.chunks() == 4; };
  EXPECT_EQ(fastest(slow_links)->name, "gpipe");
}

/// What each stage may hold decides: of those that fit, zb_v has idle time 1.5, interleaved 4.5 and 1f1b 9.
TEST(Fastest, TakesOnlyWhatFits) {
  const auto most_micro_batches = [](const Timetable& timetable, const std::vector<Held>& held) {
    const int depth = timetable.chunks() / timetable.stages;
    return static_cast<double>(held[0].activations) / depth;
  };
  FastestQuestion little = question(4, 8);
  little.fits = [&](const Timetable& t, const std::vector<Held>& held) { return most_micro_batches(t, held) <= 4; };
  EXPECT_EQ(fastest(little)->name, "zb_v");
  little.fits = [](const Timetable&, const std::vector<Held>& held) { return held[0].gradients == 0; };
  EXPECT_EQ(fastest(little)->name, "interleaved");
  little.fits = [&](const Timetable& t, const std::vector<Held>& held) {
    return most_micro_batches(t, held) <= 4 && held[0].gradients == 0;
  };
  EXPECT_EQ(fastest(little)->name, "1f1b");
  little.fits = [](const Timetable&, const std::vector<Held>&) { return false; };
  EXPECT_FALSE(fastest(little));
}

}  // namespace
}  // namespace shardline
