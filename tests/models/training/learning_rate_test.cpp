// Compares the learning rate of single steps with values computed by hand.

#include <gtest/gtest.h>

#include "models/training/training.h"

namespace shardline {
namespace {

struct Schedule {
  Index steps = 0;
  Index warmup = 0;
  double least_share = 0.1;
};

double rate(const Schedule& schedule, Index step) {
  TrainingOptions options;
  options.learning_rate = 0.8;
  options.least_share = schedule.least_share;
  options.steps = schedule.steps;
  options.warmup = schedule.warmup;
  return learning_rate(options, step);
}

/// Quarters of the warm-up, and of the half wave after it: cosines 1, sqrt(1/2), 0, -sqrt(1/2) and -1.
TEST(LearningRate, RisesAlongALineAndFallsAlongACosine) {
  const Schedule schedule{.steps = 12, .warmup = 4, .least_share = 0.25};  // from 0.8 to 0.2, 0.5 in the middle
  EXPECT_DOUBLE_EQ(rate(schedule, 1), 0.2) << "above 0";
  EXPECT_DOUBLE_EQ(rate(schedule, 2), 0.4);
  EXPECT_DOUBLE_EQ(rate(schedule, 3), 0.6);
  EXPECT_DOUBLE_EQ(rate(schedule, 4), 0.8);
  EXPECT_DOUBLE_EQ(rate(schedule, 6), 0.5 + 0.3 * 0.70710678118654752);
  EXPECT_DOUBLE_EQ(rate(schedule, 8), 0.5);
  EXPECT_DOUBLE_EQ(rate(schedule, 10), 0.5 - 0.3 * 0.70710678118654752);
  EXPECT_DOUBLE_EQ(rate(schedule, 12), 0.2);
  EXPECT_DOUBLE_EQ(rate(schedule, 13), 0.2) << "after the last step";
}

TEST(LearningRate, FallsToATenthUnlessToldOtherwise) {
  EXPECT_DOUBLE_EQ(rate({.steps = 12, .warmup = 4}, 8), 0.44);
  EXPECT_DOUBLE_EQ(rate({.steps = 12, .warmup = 4}, 12), 0.08);
}

TEST(LearningRate, StaysConstantOrFallsToNothing) {
  for (const Index step : {4, 5, 9, 12}) EXPECT_EQ(rate({.steps = 12, .warmup = 4, .least_share = 1}, step), 0.8);
  EXPECT_EQ(rate({.steps = 12, .warmup = 4, .least_share = 0}, 12), 0);
}

TEST(LearningRate, WithoutWarmUpFallsFromTheFirstStep) {
  EXPECT_DOUBLE_EQ(rate({.steps = 4, .warmup = 0, .least_share = 0.25}, 2), 0.5);
  EXPECT_DOUBLE_EQ(rate({.steps = 4, .warmup = 0, .least_share = 0.25}, 4), 0.2);
}

/// The run ends on the way up.
TEST(LearningRate, AWarmUpLongerThanTheRun) {
  EXPECT_DOUBLE_EQ(rate({.steps = 4, .warmup = 16}, 1), 0.05);
  EXPECT_DOUBLE_EQ(rate({.steps = 4, .warmup = 16}, 4), 0.2);
  EXPECT_DOUBLE_EQ(rate({.steps = 4, .warmup = 4}, 4), 0.8) << "as long as the run";
}

TEST(LearningRate, OfOneStep) {
  EXPECT_EQ(rate({.steps = 1, .warmup = 1}, 1), 0.8);
  EXPECT_DOUBLE_EQ(rate({.steps = 1, .warmup = 0}, 1), 0.08) << "the only step is the last";
}

}  // namespace
}  // namespace shardline
