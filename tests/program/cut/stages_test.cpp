// A step cut into the stages of a pipeline. The oracle is the uncut program: check_stages() follows every value through
// all stages and compares how it was made. Tests of check_stages() itself plant faults.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/cut/check_stages.h"
#include "program/cut/spread.h"
#include "program/ir/print.h"
#include "program/timetable/named.h"
#include "runtime/base/check.h"
#include "tests/program/cut/staged.h"

namespace shardline {
namespace {

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const TimetableRow& row : timetable_rows()) all.emplace_back(row.name);
  return all;
}

TEST(Stages, DoWhatTheUncutProgramDoes) {
  for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp_seq=Y", "zero1=X,tp_g=Y", "zero2=X,tp=Y"}) {
    for (const bool tied : {false, true}) {
      for (const Index micro_batches : {1, 2, 8}) {
        const RankProgram micro = micro_step(strategy, micro_batches, tied);
        for (const std::string& name : names()) {
          for (const int stages : {2, 3, 7}) {
            SCOPED_TRACE(fmt::format("{} tied {} M {} {} S {}", strategy, tied, micro_batches, name, stages));
            const Staged made = staged(micro, name, stages, micro_batches);
            EXPECT_NO_THROW(check_stages(made.uncut, made.pointers()));
          }
        }
      }
    }
  }
}

TEST(Stages, RematerialisationCutsToo) {
  for (const Remat remat : kRemats) {
    const RankProgram micro = micro_step("fsdp=X,tp=Y", 4, false, remat);
    for (const std::string& name : names()) {
      const Staged made = staged(micro, name, 3, 4);
      EXPECT_NO_THROW(check_stages(made.uncut, made.pointers())) << name << " " << name_of(remat);
    }
  }
}

/// Every step of a pass belongs to a task of that pass and of its micro-batch, and no step of the update to any. The
/// tasks of a stage come one after the other.
TEST(Stages, EveryStepOfAPassBelongsToATask) {
  const RankProgram micro = micro_step("fsdp=X,tp=Y", 4, true);
  for (const std::string& name : names()) {
    const Staged made = staged(micro, name, 2, 4);
    for (std::size_t stage = 0; stage < made.stages.size(); ++stage) {
      const std::vector<Step>& steps = made.stages[stage].steps;
      ASSERT_EQ(made.tasks[stage].size(), steps.size()) << name;
      std::vector<Task> seen;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::optional<Task>& task = made.tasks[stage][i];
        ASSERT_EQ(task.has_value(), steps[i].region.pass != Pass::update) << name << " step " << i;
        if (!task) continue;
        EXPECT_EQ(task->kind == TaskKind::forward, steps[i].region.pass == Pass::forward) << name << " step " << i;
        EXPECT_EQ(task->micro_batch, steps[i].region.micro_batch) << name << " step " << i;
        if (!changes_stage(steps[i].kind) && (seen.empty() || seen.back() != *task)) seen.push_back(*task);
      }
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end()) << name << ": a task is torn apart";
    }
  }
}

/// Texts of the arrays that leave a stage for its neighbour, without the update.
std::vector<std::string> crossing(const RankProgram& stage, int to) {
  std::vector<std::string> texts;
  for (const Step& step : stage.steps) {
    if (step.kind != StepKind::send || step.peer != to || step.region.pass == Pass::update) continue;
    for (const VersionId v : step.operands) texts.push_back(stage.array_of(v).name);
  }
  return texts;
}

/// Exactly one array crosses each boundary each way for every micro-batch.
TEST(Stages, OneArrayCrossesEachBoundaryEachWay) {
  const Staged made = staged(micro_step("fsdp=X,tp=Y", 2, false), "1f1b", 3, 2);
  using Names = std::vector<std::string>;
  EXPECT_EQ(crossing(made.stages[0], 1), (Names{"x1", "x1"}));
  EXPECT_EQ(crossing(made.stages[1], 2), (Names{"x3", "x3"}));
  EXPECT_EQ(crossing(made.stages[2], 1), (Names{"dx3", "dx3"}));
  EXPECT_EQ(crossing(made.stages[1], 0), (Names{"dx1", "dx1"}));
  EXPECT_EQ(crossing(made.stages[0], 2), Names());
  EXPECT_EQ(crossing(made.stages[2], 0), Names());
  const auto prints = [&](const RankProgram& stage, const std::string& text) {
    const std::vector<std::string> all = lines(stage);
    return std::count(all.begin(), all.end(), text);
  };
  EXPECT_EQ(prints(made.stages[0], "x1[B_X, T, D_Y] = Send_Z0>Z1(x1[B_X, T, D_Y])"), 2);
  EXPECT_EQ(prints(made.stages[1], "x1[B_X, T, D_Y] = Receive_Z0>Z1(x1[B_X, T, D_Y])"), 2);
}

/// How many arrays leave each stage for each other one, without the update.
using Crossings = std::map<std::pair<int, int>, Index>;

Crossings crossings_of(const Staged& made) {
  Crossings found;
  for (std::size_t stage = 0; stage < made.stages.size(); ++stage) {
    for (const Step& step : made.stages[stage].steps) {
      if (step.kind != StepKind::send || step.region.pass == Pass::update) continue;
      found[{static_cast<int>(stage), step.peer}] += static_cast<Index>(step.operands.size());
    }
  }
  return found;
}

/// One each way for every micro-batch, where neighbouring chunks lie on different stages.
Crossings one_each_way(const std::vector<int>& place, Index micro_batches) {
  Crossings wanted;
  for (std::size_t chunk = 0; chunk + 1 < place.size(); ++chunk) {
    if (place[chunk] == place[chunk + 1]) continue;
    wanted[{place[chunk], place[chunk + 1]}] += micro_batches;
    wanted[{place[chunk + 1], place[chunk]}] += micro_batches;
  }
  return wanted;
}

TEST(Stages, OneArrayCrossesEachBoundaryInEveryTimetable) {
  constexpr Index kMicroBatches = 4;
  for (const char* strategy : {"dp=X,tp=Y", "fsdp=X,tp_seq=Y"}) {
    for (const Remat remat : {Remat::none, Remat::stream}) {
      const RankProgram micro = micro_step(strategy, kMicroBatches, false, remat);
      for (const TimetableRow& row : timetable_rows()) {
        for (int stages = 2; stages * row.chunks_per_stage <= kAllLayers; ++stages) {
          SCOPED_TRACE(fmt::format("{} {} {} S {}", strategy, name_of(remat), row.name, stages));
          const Staged made = staged(micro, std::string(row.name), stages, kMicroBatches);
          const std::vector<int> place = place_of_chunks({.name = std::string(row.name), .stages = stages});
          EXPECT_EQ(crossings_of(made), one_each_way(place, kMicroBatches));
        }
      }
    }
  }
}

bool holds(const RankProgram& stage, const std::string& input) {
  return std::any_of(stage.inputs.begin(), stage.inputs.end(),
                     [&](const auto& each) { return stage.program.array(each.first).name == input; });
}

/// A stage holds what its layers read: ids on the first, labels on the last, a tied table on both.
TEST(Stages, InputsLieWhereTheyAreRead) {
  for (const bool tied : {false, true}) {
    const Staged made = staged(micro_step("dp=X,tp=Y", 2, tied), "gpipe", 3, 2);
    for (int stage = 0; stage < 3; ++stage) {
      const RankProgram& program = made.stages[static_cast<std::size_t>(stage)];
      EXPECT_EQ(holds(program, "ids"), stage == 0);
      EXPECT_EQ(holds(program, "ids@2"), stage == 0);
      EXPECT_EQ(holds(program, "labels"), stage == 2);
      EXPECT_EQ(holds(program, "E"), stage == 0 || (tied && stage == 2));
      EXPECT_EQ(holds(program, "m.E"), stage == 0 || (tied && stage == 2));
      EXPECT_EQ(holds(program, "W_q1"), stage == 0);
      EXPECT_EQ(holds(program, "W_q2"), stage == 1);
      EXPECT_EQ(holds(program, "W_q3"), stage == 1);
      for (const auto& [before, after] : program.program.updates) {
        EXPECT_TRUE(program.inputs.contains(before) && program.finals.contains(after));
      }
      EXPECT_TRUE(program.finals.contains(program.program.find("norm.squares")));
    }
  }
}

/// What an update makes of a parameter stays where the parameter is, also while it is gathered to its layout (zero1).
TEST(Stages, UpdatedParametersStayOnTheirStages) {
  const Staged made = staged(micro_step("zero1=X,tp=Y", 2, false), "1f1b", 3, 2);
  for (const RankProgram& program : made.stages) {
    std::set<ArrayId> own;
    for (const auto& [before, after] : program.program.updates) own.insert(after);
    for (const Step& step : program.steps) {
      for (const VersionId v : step.results) {
        const bool updated = program.array_of(v).role == Role::parameter && program.array_of(v).name.back() == '\'';
        EXPECT_TRUE(!updated || own.contains(program.version(v).array)) << to_string(program, step);
      }
    }
  }
}

/// The first step of a kind on a stage, changed; check_stages() must tell.
void expect_caught(const std::string& message, const std::function<void(Staged&)>& plant) {
  Staged made = staged(micro_step("dp=X,tp=Y", 4, false), "1f1b", 3, 4);
  check_stages(made.uncut, made.pointers());
  plant(made);
  try {
    check_stages(made.uncut, made.pointers());
    ADD_FAILURE() << "not caught: " << message;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

std::vector<std::size_t> steps_of(const RankProgram& program, StepKind kind) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (program.steps[i].kind == kind) found.push_back(i);
  }
  return found;
}

TEST(Stages, FaultsAreCaught) {
  expect_caught("stage 0 sends number", [](Staged& made) {  // micro-batches in another order
    const std::vector<std::size_t> sends = steps_of(made.stages[0], StepKind::send);
    std::swap(made.stages[0].steps[sends[0]].tag, made.stages[0].steps[sends[1]].tag);
  });
  expect_caught("stage 1 sends number", [](Staged& made) {  // a message is lost
    std::vector<Step>& steps = made.stages[1].steps;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(steps_of(made.stages[1], StepKind::send)[0]));
  });
  expect_caught("makes another", [](Staged& made) {  // the activations of another micro-batch
    std::vector<Step>& steps = made.stages[0].steps;
    const std::vector<std::size_t> sends = steps_of(made.stages[0], StepKind::send);
    steps[sends[1]].operands = steps[sends[0]].operands;
  });
  expect_caught("is read before it is there", [](Staged& made) {  // a task before what it needs
    std::vector<Step>& steps = made.stages[1].steps;
    const std::size_t first = steps_of(made.stages[1], StepKind::receive)[0];
    std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(first),
                steps.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                steps.begin() + static_cast<std::ptrdiff_t>(first) + 2);
  });
  expect_caught("makes another", [](Staged& made) {  // a part of a sum is left out
    for (Step& step : made.stages[2].steps) {
      const bool adds = step.kind == StepKind::compute && step.region.pass == Pass::backward &&
                        made.stages[2].array_of(step.results[0]).name.starts_with("sum.");
      if (!adds) continue;
      step.operands[1] = step.operands[0];
      return;
    }
  });
  expect_caught("stages wait for each other", [](Staged& made) {  // the last message is lost
    std::vector<Step>& steps = made.stages[1].steps;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(steps_of(made.stages[1], StepKind::send).back()));
  });
  expect_caught("and does not update it", [](Staged& made) {
    RankProgram& program = made.stages[0];
    program.finals.erase(program.program.updates.front().second);
  });
  expect_caught("no stage makes norm.squares", [](Staged& made) {
    for (RankProgram& program : made.stages) program.finals.erase(program.program.find("norm.squares"));
  });
}

}  // namespace
}  // namespace shardline
