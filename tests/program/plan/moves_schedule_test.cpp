// Schedules of the programs of stages: moves are always started and waited for; receives start early, and sends do not
// pile up.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "program/ir/print.h"
#include "program/plan/liveness.h"
#include "program/plan/schedule.h"
#include "tests/program/cut/staged.h"

namespace shardline {
namespace {

roofline::Hardware links(const RankProgram& program, bool frees_cores) {
  roofline::Hardware hardware{"test", FlopsPerSecond(1e10), BytesPerSecond(1e12), Seconds(1e-9), {}};
  Axes axes = program.mesh.axes();
  axes.push_back("Z");
  for (const Axis& axis : axes) {
    hardware.links[axis] = {.latency = Seconds(1e-9), .bandwidth = BytesPerSecond(1e9), .frees_cores = frees_cores};
  }
  return hardware;
}

/// The actions in short: F and B for computations of a pass, s and r for a move that starts, S and R for one that is
/// waited for; a number counts the moves of a kind from 0. Equal computations in a row stand once. Without the update.
std::vector<std::string> in_short(const RankProgram& program, const ProgramSchedule& schedule) {
  std::map<StepKind, std::vector<int>> moves;
  for (std::size_t i = 0; i < program.steps.size(); ++i) moves[program.steps[i].kind].push_back(static_cast<int>(i));
  std::vector<std::string> words;
  for (const Action& action : schedule.actions) {
    const Step& step = program.steps[static_cast<std::size_t>(action.steps[0])];
    if (step.region.pass == Pass::update) continue;
    std::string word = step.region.pass == Pass::forward ? "F" : "B";
    if (changes_stage(step.kind)) {
      const std::vector<int>& same = moves[step.kind];
      const bool starts = action.kind == ActionKind::start;
      const char* letters = step.kind == StepKind::send ? "sS" : "rR";
      const auto number = std::find(same.begin(), same.end(), action.steps[0]) - same.begin();
      word = fmt::format("{}{}", letters[starts ? 0 : 1], number);
    } else {
      word += std::to_string(step.region.micro_batch);
    }
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  return words;
}

/// An MLP of two layers on two stages: one layer, which is one region, for each task. By hand: a receive starts one
/// region early, is waited for before its reader, and the third send waits for the first.
TEST(ScheduleOfMoves, ByHand) {
  const TrainingStep step = make_training_step(MlpConfig{.d_model = 4, .d_ff = 4, .layers = 2}, {4, 1}, PlainDescent{},
                                               {}, {.micro_batches = 4});
  const RankProgram micro = partitioned(step.model.program, "X=1", "dp=X");
  const TaskCosts costs = unit_costs(2);
  const Timetable timetable = make_timetable({.name = "gpipe", .stages = 2, .micro_batches = 4}, costs);
  const Cut cut(micro, {.place = timetable.place, .chunk_of = {0, 0, 1, 1}});
  const StageEvents events = with_moves(timetable, timed(timetable, costs), cut.sends(timetable.kinds));
  const RankProgram first = write_out(cut, {.axis = "Z", .stage = 0, .micro_batches = 4, .events = events}).program;
  using Words = std::vector<std::string>;
  EXPECT_EQ(in_short(first, schedule(first, links(first, true), {})),
            (Words{"F0", "s0", "F1", "s1", "F2", "S0", "s2", "r0", "F3", "S1", "s3", "r1",
                   "R0", "B0", "r2", "R1", "B1", "r3", "R2", "B2", "R3", "B3", "S2", "S3"}));
}

/// By step: the number of its region. Steps of one region stand side by side.
std::vector<int> regions_of(const RankProgram& program) {
  std::vector<int> regions(program.steps.size(), 0);
  for (std::size_t i = 1; i < regions.size(); ++i) {
    regions[i] = regions[i - 1] + (program.steps[i].region == program.steps[i - 1].region ? 0 : 1);
  }
  return regions;
}

/// A receive is under way before the region before its own begins.
void expect_early(const RankProgram& program, const ProgramSchedule& schedule, std::size_t receive) {
  const std::vector<int> regions = regions_of(program);
  for (std::size_t i = 0; i < receive; ++i) {
    if (regions[i] + 1 != regions[receive] || program.steps[i].kind != StepKind::compute) continue;
    EXPECT_LT(schedule.begins[receive], schedule.begins[i]) << to_string(program, program.steps[receive]);
    return;
  }
}

/// Every move is started once and waited for once, and its arrays are there meanwhile.
void expect_started_and_ended(const RankProgram& program, const ProgramSchedule& schedule) {
  const Liveness liveness(program, schedule);
  std::map<VersionId, int> freed_after;
  for (int action = 0; action < static_cast<int>(schedule.actions.size()); ++action) {
    for (const VersionId v : liveness.freed_after(action)) freed_after[v] = action;
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!changes_stage(step.kind)) continue;
    const auto kind_of = [&](int action) { return schedule.actions[static_cast<std::size_t>(action)].kind; };
    EXPECT_EQ(kind_of(schedule.begins[i]), ActionKind::start);
    EXPECT_EQ(kind_of(schedule.ends[i]), ActionKind::wait);
    for (const VersionId v : step.operands) {
      EXPECT_TRUE(!freed_after.contains(v) || freed_after[v] >= schedule.ends[i]) << to_string(program, step);
    }
    if (step.kind == StepKind::receive) expect_early(program, schedule, i);
  }
}

/// What a receive gives is read after its end.
void expect_read_when_there(const RankProgram& program, const ProgramSchedule& schedule) {
  std::map<VersionId, int> there;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind != StepKind::receive) continue;
    for (const VersionId v : program.steps[i].results) there[v] = schedule.ends[i];
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    for (const VersionId v : program.steps[i].operands) {
      EXPECT_TRUE(!there.contains(v) || there[v] < schedule.begins[i]) << to_string(program, program.steps[i]);
    }
  }
}

/// At most two arrays are on their way to a stage, and the oldest is waited for first.
void expect_few_on_their_way(const RankProgram& program, const ProgramSchedule& schedule) {
  std::map<int, std::vector<int>> on_their_way;  // by stage
  for (const Action& action : schedule.actions) {
    const int number = action.steps[0];
    const Step& step = program.steps[static_cast<std::size_t>(number)];
    if (step.kind != StepKind::send) continue;
    std::vector<int>& sends = on_their_way[step.peer];
    if (action.kind == ActionKind::start) {
      sends.push_back(number);
      EXPECT_LE(sends.size(), 2U);
    } else {
      ASSERT_FALSE(sends.empty());
      EXPECT_EQ(sends.front(), number);
      sends.erase(sends.begin());
    }
  }
  for (const auto& [peer, sends] : on_their_way) EXPECT_TRUE(sends.empty()) << "no end of a send to stage " << peer;
}

TEST(ScheduleOfMoves, OfEveryTimetable) {
  const RankProgram micro = micro_step("fsdp=X,tp_seq=Y", 8, true);
  for (const TimetableRow& row : timetable_rows()) {
    for (const int stages : {2, 3}) {
      const Staged made = staged(micro, std::string(row.name), stages, 8);
      for (const RankProgram& stage : made.stages) {
        for (const bool frees_cores : {false, true}) {
          SCOPED_TRACE(fmt::format("{} S {} frees {}", row.name, stages, frees_cores));
          const ProgramSchedule made_schedule = schedule(stage, links(stage, frees_cores), {});
          expect_started_and_ended(stage, made_schedule);
          expect_read_when_there(stage, made_schedule);
          expect_few_on_their_way(stage, made_schedule);
        }
      }
    }
  }
}

}  // namespace
}  // namespace shardline
