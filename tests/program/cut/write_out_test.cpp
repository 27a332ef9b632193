#include "program/cut/write_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "program/ir/print.h"
#include "program/partition/check.h"
#include "program/plan/schedule.h"
#include "runtime/base/check.h"
#include "tests/program/programs.h"

namespace shardline {
namespace {

constexpr Index kSequences = 8;

RankProgram micro(const std::string& mesh, const std::string& strategy, Index micro_batches, bool tied = false) {
  const TrainingStep step =
      make_training_step(small_config(false, tied), {kSequences, 3}, {}, {}, {.micro_batches = micro_batches});
  RankProgram program = partitioned(step.model.program, mesh, strategy);
  check(program);
  return program;
}

Index count(const RankProgram& program, auto holds) {
  return std::count_if(program.steps.begin(), program.steps.end(), holds);
}

bool is_update(const Step& step) { return step.region.pass == Pass::update; }

TEST(WriteOut, OneMicroBatchIsTheProgramItself) {
  for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp_seq=Y"}) {
    const RankProgram program = micro("X=2,Y=2", strategy, 1);
    const WrittenOut written = write_out(program, 1);
    EXPECT_EQ(lines(written.program), lines(program));
    ASSERT_EQ(written.samples.size(), 1U);
    for (const auto& [input, own] : written.samples[0]) EXPECT_EQ(own, input);
  }
}

/// Every version is made once and before it is read, on every way through the program. Sums are gone.
TEST(WriteOut, VersionsAreMadeBeforeTheyAreRead) {
  for (const char* strategy : {"dp=X,tp=Y", "zero1=X,tp_g=Y", "zero2=X,tp=Y", "fsdp=X,tp_seq=Y"}) {
    for (const Index batches : {2, 4, 8}) {
      const RankProgram program = write_out(micro("X=2,Y=2", strategy, batches, true), batches).program;
      std::set<VersionId> made;
      for (const auto& [input, version] : program.inputs) made.insert(version);
      for (const Step& step : program.steps) {
        for (const VersionId v : step.operands) EXPECT_TRUE(made.contains(v)) << to_string(program, step);
        for (const VersionId v : step.results) EXPECT_TRUE(made.insert(v).second) << to_string(program, step);
      }
      for (const auto& [array, version] : program.finals) EXPECT_TRUE(made.contains(version));
      for (const ArrayId input : program.program.inputs) EXPECT_NE(program.program.array(input).role, Role::sum);
      for (const auto& [before, after] : program.program.updates) {
        EXPECT_EQ(program.program.array(before).name.find("sum."), std::string::npos);
      }
    }
  }
}

/// M times the steps of a micro-batch, less one addition for each sum; the update once, without copies of sums.
TEST(WriteOut, CountsOfSteps) {
  for (const Index batches : {2, 4}) {
    const RankProgram one = micro("X=2,Y=2", "fsdp=X,tp=Y", batches);
    const RankProgram program = write_out(one, batches).program;
    const Index sums = std::count_if(one.program.inputs.begin(), one.program.inputs.end(),
                                     [&](ArrayId a) { return one.program.array(a).role == Role::sum; });
    const Index body = count(one, [](const Step& s) { return !is_update(s); });
    const Index update = count(one, is_update);
    EXPECT_EQ(static_cast<Index>(program.steps.size()), batches * body - sums + update - sums);
    EXPECT_EQ(
        count(program,
              [](const Step& s) { return s.kind == StepKind::compute && !is_update(s) && s.region.micro_batch == 0; }),
        count(one, [](const Step& s) { return s.kind == StepKind::compute && !is_update(s); }) - sums);
  }
}

/// Under dp nothing is sent before the last micro-batch. Then each gradient is reduced once, before the next layer.
TEST(WriteOut, DataParallelismSendsNothingBeforeTheLastMicroBatch) {
  for (const Index batches : {2, 4, 8}) {
    const RankProgram program = write_out(micro("X=4", "dp=X", batches), batches).program;
    Index reductions = 0;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (!communicates(step.kind)) continue;
      ++reductions;
      EXPECT_TRUE(step.region.micro_batch == batches - 1 || is_update(step)) << to_string(program, step);
      EXPECT_EQ(step.kind, StepKind::all_reduce);
      ASSERT_GT(i, 0U);
      EXPECT_EQ(program.steps[i - 1].results[0], step.operands[0]) << "not at once: " << to_string(program, step);
    }
    const RankProgram whole = micro("X=4", "dp=X", 1);
    EXPECT_EQ(reductions, count(whole, [](const Step& s) { return communicates(s.kind); }));
  }
}

/// Pods (book section 5.1.6): the gradients are reduced inside first. Each crosses W once a step, sharded, while the
/// backward pass goes on.
TEST(WriteOut, GradientsCrossTheSlowAxisOnceAndSharded) {
  for (const char* inside : {"fsdp=X,tp=Y", "fsdp=Y,tp_seq=X", "fsdp=X,fsdp=Y"}) {
    SCOPED_TRACE(inside);
    const RankProgram program = write_out(micro("W=2,X=2,Y=2", std::string("dp=W,") + inside, 4), 4).program;
    Index crossed = 0;
    for (const Step& step : program.steps) {
      if (!communicates(step.kind) || !contains(step.axes, "W")) continue;
      EXPECT_TRUE(step.region.micro_batch == 3 || is_update(step)) << to_string(program, step);
      EXPECT_EQ(step.kind, StepKind::all_reduce);
      const Array& array = program.array_of(step.operands[0]);
      if (!array.dims.empty()) crossed += element_count(local_shape(program, step.operands[0], 0));
    }
    Index sharded = 0;  // elements of all parameters on a rank
    for (const auto& [input, version] : program.inputs) {
      if (program.program.array(input).role != Role::parameter) continue;
      sharded += element_count(local_shape(program, version, 0));
    }
    EXPECT_EQ(crossed, sharded);

    roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e12), Seconds(1e-9), {}};
    for (const Axis& axis : program.mesh.axes()) {
      hardware.links[axis] = {.latency = Seconds(1e-9), .bandwidth = BytesPerSecond(1e9)};
    }
    const ProgramSchedule made = schedule(program, hardware, {});
    int last = 0;  // action of the backward pass
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      if (program.steps[i].region.pass == Pass::backward) last = std::max(last, made.begins[i]);
    }
    Index beside = 0;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      if (!communicates(step.kind) || !contains(step.axes, "W") || step.region.layer == 0) continue;
      if (program.array_of(step.operands[0]).dims.size() < 2) continue;  // small arrays may wait for each other
      EXPECT_LT(made.begins[i], last) << to_string(program, step);
      ++beside;
    }
    EXPECT_GT(beside, 0);
  }
}

/// fsdp scatters each part, because a whole sum would not fit.
TEST(WriteOut, FsdpScattersEachPart) {
  const RankProgram program = write_out(micro("X=4", "fsdp=X", 4), 4).program;
  std::map<int, Index> scatters;
  for (const Step& step : program.steps) {
    if (step.kind == StepKind::reduce_scatter) ++scatters[step.region.micro_batch];
  }
  EXPECT_EQ(scatters.size(), 4U);
  EXPECT_EQ(std::set<Index>({scatters[0], scatters[1], scatters[2], scatters[3]}).size(), 1U);
}

TEST(WriteOut, EachMicroBatchHasItsOwnTokens) {
  const WrittenOut written = write_out(micro("X=2", "dp=X", 4), 4);
  std::set<ArrayId> tokens;
  for (const auto& each : written.samples) {
    EXPECT_EQ(each.size(), 2U);
    for (const auto& [input, own] : each) {
      tokens.insert(own);
      EXPECT_EQ(written.program.program.array(own).shape, written.program.program.array(input).shape);
      EXPECT_TRUE(written.program.inputs.contains(own));
    }
  }
  EXPECT_EQ(tokens.size(), 8U);
}

TEST(WriteOut, RefusesNoMicroBatch) { EXPECT_THROW(write_out(micro("X=2", "dp=X", 1), 0), UsageError); }

}  // namespace
}  // namespace shardline
