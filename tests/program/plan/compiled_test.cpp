// Compares the link between planning and running with the functions behind it.

#include "program/plan/compiled.h"

#include <gtest/gtest.h>

#include "program/ir/print.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

roofline::Hardware machine(const AbstractMesh& mesh, double bandwidth) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e10), Seconds(1e-6), {}};
  for (const Axis& axis : mesh.axes()) {
    hardware.links[axis] = {.latency = Seconds(1e-6), .bandwidth = BytesPerSecond(bandwidth), .frees_cores = true};
  }
  return hardware;
}

RankProgram some_program() {
  return partitioned(small_training_step(true, false, 2).model.program, "X=2,Y=2", "fsdp=X,tp=Y");
}

std::vector<Seconds> times(const std::vector<StepEstimate>& estimates) {
  std::vector<Seconds> times;
  for (const StepEstimate& each : estimates) times.push_back(each.price.time);
  return times;
}

TEST(Compiled, ItsPartsAreWhatTheFunctionsMake) {
  const RankProgram program = some_program();
  const roofline::Hardware prices = machine(program.mesh, 1e9);
  const roofline::Hardware predictions = machine(program.mesh, 1e8);
  for (const ScheduleOptions& options :
       {ScheduleOptions(), ScheduleOptions{.overlap = false, .fuse = ScheduleOptions::Fuse::always}}) {
    const auto compiled = compile(program, {.scheduling = options, .prices = prices, .predictions = predictions});
    const ProgramSchedule expected = schedule(program, prices, options);
    EXPECT_EQ(lines(compiled->program()), lines(program));
    EXPECT_EQ(compiled->schedule().actions, expected.actions);
    const Liveness liveness(program, expected);
    EXPECT_EQ(compiled->liveness().peak(0), liveness.peak(0));
    EXPECT_EQ(compiled->arena().places, plan_arena(program, liveness).places);
    const std::vector<StepEstimate> estimates = estimate(program, predictions);
    EXPECT_EQ(times(compiled->estimates()), times(estimates));
    EXPECT_EQ(compiled->time().total, scheduled_time(program, expected, estimates, predictions).total);
  }
}

TEST(Compiled, WithoutOptionsEveryStepIsAtItsPlace) {
  const RankProgram program = some_program();
  EXPECT_EQ(compile(program, {})->schedule().actions, in_order(program).actions);
}

TEST(Compiled, MakesEachPartOnce) {
  const RankProgram program = some_program();
  const roofline::Hardware prices = machine(program.mesh, 1e9);
  const auto compiled = compile(program, {.scheduling = ScheduleOptions(), .prices = prices, .predictions = prices});
  // A part that is made again has new memory, because the old memory is freed later.
  const Action* actions = compiled->schedule().actions.data();
  const auto* places = &*compiled->arena().places.begin();
  const StepEstimate* estimates = compiled->estimates().data();
  const ScheduledSpan* spans = compiled->time().spans.data();
  EXPECT_EQ(compiled->schedule().actions.data(), actions);
  EXPECT_EQ(&*compiled->arena().places.begin(), places);
  EXPECT_EQ(compiled->estimates().data(), estimates);
  EXPECT_EQ(compiled->time().spans.data(), spans);
  EXPECT_EQ(&compiled->liveness().schedule(), &compiled->schedule());
}

TEST(Compiled, EveryFuseHasItsFusion) {
  const RankProgram program = some_program();
  const auto compiled = compile(program, {.scheduling = {{.overlap = false, .fuse = ScheduleOptions::Fuse::always}},
                                          .prices = machine(program.mesh, 1e9)});
  const ProgramSchedule& schedule = compiled->schedule();
  std::size_t fused = 0;
  for (std::size_t i = 0; i < schedule.actions.size(); ++i) {
    if (schedule.actions[i].kind != ActionKind::fuse) continue;
    ++fused;
    ASSERT_TRUE(schedule.fusions.contains(static_cast<int>(i)));
    const FusionGroup& group = schedule.fusions.at(static_cast<int>(i));
    std::vector<int> steps = schedule.actions[i].steps;
    ASSERT_EQ(steps.size(), group.size() + 1);
    const bool gathers = group.front().gathers;
    EXPECT_EQ(gathers ? steps.front() : steps.back(), group.front().collective);
    steps.erase(gathers ? steps.begin() : steps.end() - 1);
    for (std::size_t k = 0; k < group.size(); ++k) EXPECT_EQ(steps[k], group[k].computation);
  }
  EXPECT_GT(fused, 0U);
  EXPECT_EQ(schedule.fusions.size(), fused);
}

TEST(Compiled, PredictionsComeOnceAndMayComeLater) {
  const RankProgram program = some_program();
  const auto compiled = compile(program, {});
  EXPECT_FALSE(compiled->predicts());
  EXPECT_THROW(compiled->estimates(), Error);
  EXPECT_THROW(compiled->time(), Error);
  compiled->predict_by(machine(program.mesh, 1e9));
  EXPECT_EQ(compiled->estimates().size(), program.steps.size());
  EXPECT_THROW(compiled->predict_by(machine(program.mesh, 1e9)), Error);
}

}  // namespace
}  // namespace shardline
