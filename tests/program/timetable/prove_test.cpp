#include "program/timetable/prove.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

constexpr TaskKind F = TaskKind::forward;
constexpr TaskKind B = TaskKind::backward;
constexpr TaskKind W = TaskKind::weights;

Event run_of(TaskKind kind, int chunk, Index m) { return {EventKind::run, {kind, chunk, m}}; }
Event send_of(TaskKind kind, int chunk, Index m, int to) { return {EventKind::send, {kind, chunk, m}, to}; }
Event receive_of(TaskKind kind, int chunk, Index m, int from) { return {EventKind::receive, {kind, chunk, m}, from}; }

Proven prove_chain(const Pipeline& pipeline, const ProofOptions& options = {}) {
  const Sends sends = chain(pipeline.timetable);
  return prove(pipeline.timetable, with_moves(pipeline.timetable, pipeline.timing, sends), sends, options);
}

TEST(Prove, AllTimetablesWork) {
  for (const TimetableRow& row : timetable_rows()) {
    const std::string name(row.name);
    for (int S = 1; S <= 8; ++S) {
      for (Index M = 1; M <= 32; ++M) {
        const std::vector<Index> limits = held_limits({.name = name, .stages = S, .micro_batches = M});
        std::vector<Pipeline> pipelines{even_pipeline(name, S, M)};
        if ((S + M) % 4 == 0) {
          pipelines.push_back(uneven_pipeline(name, S, M));
          pipelines.push_back(even_pipeline(name, S, M, {.move = 0.3, .frees_cores = false}));
        }
        for (const Pipeline& pipeline : pipelines) {
          Proven found;
          ASSERT_NO_THROW(found = prove_chain(pipeline, {.held_limits = limits})) << name << ' ' << S << ' ' << M;
          Index most = 0;
          for (const Held& stage : held(pipeline.timetable)) most = std::max(most, stage.activations);
          EXPECT_EQ(found.held, most) << name << ' ' << S << ' ' << M;
        }
      }
    }
  }
}

TEST(Prove, EvaluationsWork) {
  for (const TimetableRow& row : timetable_rows()) {
    for (const int S : {1, 3, 4}) {
      for (Index M = 1; M <= 9; ++M) {
        const Timetable evaluation = forward_only(even_pipeline(std::string(row.name), S, M).timetable);
        const TaskCosts costs = costs_by_chunk(evaluation.chunks(), {}, [](int) { return 1.0; });
        EXPECT_EQ(prove_chain({evaluation, timed(evaluation, costs)}).held, 1) << row.name << ' ' << S << ' ' << M;
      }
    }
  }
}

/// Stage 1 of gpipe receives all that stage 0 makes while its own F takes ten times as long.
TEST(Prove, CountsWhatHasArrivedAndWaits) {
  TaskCosts costs = costs_by_chunk(2, {}, [](int q) { return q == 0 ? 1.0 : 10.0; });
  const Timetable timetable = make_timetable({.name = "gpipe", .stages = 2, .micro_batches = 4}, costs);
  EXPECT_EQ(prove_chain({timetable, timed(timetable, costs)}).waiting, 3);
  EXPECT_EQ(prove_chain(even_pipeline("gpipe", 1, 4)).waiting, 0);
}

/// B of stage 1 reads what F of stage 0 made once more. It has been read before, so it does not wait.
TEST(Prove, CountsWhatIsReadTwiceOnce) {
  const Timetable timetable = even_pipeline("1f1b", 2, 3).timetable;
  const StageEvents events{{run_of(F, 0, 0), send_of(F, 0, 0, 1), receive_of(B, 1, 0, 1), run_of(B, 0, 0),
                            run_of(F, 0, 1), send_of(F, 0, 1, 1), run_of(F, 0, 2), send_of(F, 0, 2, 1),
                            receive_of(B, 1, 1, 1), run_of(B, 0, 1), receive_of(B, 1, 2, 1), run_of(B, 0, 2)},
                           {receive_of(F, 0, 0, 0), run_of(F, 1, 0), run_of(B, 1, 0), send_of(B, 1, 0, 0),
                            receive_of(F, 0, 1, 0), receive_of(F, 0, 2, 0), run_of(F, 1, 1), run_of(B, 1, 1),
                            send_of(B, 1, 1, 0), run_of(F, 1, 2), run_of(B, 1, 2), send_of(B, 1, 2, 0)}};
  const auto reads = [&](const ChunkTask& task) {
    std::vector<ChunkTask> needed = needs(timetable, task);
    if (task == ChunkTask{B, 1}) needed.push_back({F, 0});
    return needed;
  };
  EXPECT_EQ(prove(timetable, events, chain(timetable), {.needs = reads}).waiting, 2);
}

/// A timetable of 4 stages and 8 micro-batches that works, and ways to break it.
class BrokenTimetable {
 public:
  explicit BrokenTimetable(const std::string& name = "1f1b")
      : timetable_(even_pipeline(name, 4, 8).timetable),
        sends_(chain(timetable_)),
        events_(with_moves(timetable_, even_pipeline(name, 4, 8).timing, sends_)) {}

  std::vector<Event>& stage(int z) { return events_[static_cast<std::size_t>(z)]; }
  Event& at(int z, const Event& event) { return *std::find(stage(z).begin(), stage(z).end(), event); }
  void erase(int z, const Event& event) { std::erase(stage(z), event); }
  void swap(int z, const Event& a, const Event& b) { std::swap(at(z, a), at(z, b)); }
  const Timetable& timetable() const { return timetable_; }
  const Sends& sends() const { return sends_; }
  Sends& sends() { return sends_; }

  std::string fault(const ProofOptions& options = {}) const {
    return fault_message([&] { prove(timetable_, events_, sends_, options); });
  }

 private:
  Timetable timetable_;
  Sends sends_;
  StageEvents events_;
};

TEST(Prove, FindsNothingInWhatWorks) { EXPECT_EQ(BrokenTimetable().fault(), "nothing was refused"); }

TEST(Prove, FindsTasksThatAreMissingTwiceOrElsewhere) {
  BrokenTimetable missing;
  missing.erase(0, run_of(B, 0, 7));
  EXPECT_EQ(missing.fault(), "timetable: stage 0 never runs B7");
  BrokenTimetable twice;
  twice.stage(3).push_back(run_of(F, 3, 0));
  EXPECT_EQ(twice.fault(), "timetable: stage 3 runs F0 twice");
  BrokenTimetable elsewhere;
  elsewhere.erase(3, run_of(B, 3, 7));
  elsewhere.stage(2).push_back(run_of(B, 3, 7));
  EXPECT_EQ(elsewhere.fault(), "timetable: stage 2 runs B7, a task of stage 3");
}

TEST(Prove, FindsWhatIsNoTask) {
  for (const Event& strange : {run_of(W, 1, 0), run_of(F, 9, 0), run_of(F, -1, 0), run_of(F, 1, 8), run_of(F, 1, -1)}) {
    BrokenTimetable broken;
    broken.stage(1).push_back(strange);
    EXPECT_EQ(broken.fault(), "timetable: stage 1 has " + to_string(strange.task.kind) + " of chunk " +
                                  std::to_string(strange.task.chunk) + " and micro-batch " +
                                  std::to_string(strange.task.micro_batch) + ", which is no task");
  }
}

TEST(Prove, FindsTasksBeforeWhatTheyNeed) {
  BrokenTimetable own;
  own.swap(3, run_of(F, 3, 2), run_of(B, 3, 2));
  EXPECT_EQ(own.fault(), "timetable: stage 3 runs B2 before F2 is done");
  BrokenTimetable arrives;
  arrives.swap(2, receive_of(F, 1, 0, 1), run_of(F, 2, 0));
  EXPECT_EQ(arrives.fault(), "timetable: stage 2 runs F0 before F0 has arrived");
  BrokenTimetable early;
  early.swap(0, run_of(F, 0, 0), send_of(F, 0, 0, 1));
  EXPECT_EQ(early.fault(), "timetable: stage 0 sends F0 before it is made");
}

TEST(Prove, FindsSumsInAnotherOrder) {
  BrokenTimetable weights("zb_h1");
  weights.swap(3, run_of(W, 3, 6), run_of(W, 3, 7));
  EXPECT_EQ(weights.fault(), "timetable: stage 3 runs W6 after W7: sums of micro-batches would differ");
  const Timetable alone = even_pipeline("gpipe", 1, 3).timetable;
  const StageEvents events{{run_of(F, 0, 0), run_of(F, 0, 1), run_of(F, 0, 2),  //
                            run_of(B, 0, 1), run_of(B, 0, 0), run_of(B, 0, 2)}};
  EXPECT_EQ(fault_message([&] { prove(alone, events, {}); }),
            "timetable: stage 0 runs B0 after B1: sums of micro-batches would differ");
}

TEST(Prove, FindsMovesThatAreMissingTwiceOrElsewhere) {
  BrokenTimetable not_received;
  not_received.erase(2, receive_of(F, 1, 3, 1));
  EXPECT_EQ(not_received.fault(), "timetable: stage 2 never receives F3 from stage 1");
  BrokenTimetable not_sent;
  not_sent.erase(1, send_of(F, 1, 3, 2));
  EXPECT_EQ(not_sent.fault(), "timetable: stage 1 never sends F3 to stage 2");
  BrokenTimetable twice;
  twice.stage(1).push_back(send_of(F, 1, 3, 2));
  twice.stage(2).push_back(receive_of(F, 1, 3, 1));
  EXPECT_EQ(twice.fault(), "timetable: stage 1 sends F3 to stage 2 twice");
  BrokenTimetable elsewhere;
  elsewhere.at(1, send_of(F, 1, 3, 2)).peer = 3;
  EXPECT_EQ(elsewhere.fault(), "timetable: stage 1 sends F3 to stage 3, which is not among the moves");
  BrokenTimetable from;
  from.at(2, receive_of(F, 1, 3, 1)).peer = 0;
  EXPECT_EQ(from.fault(), "timetable: stage 2 receives F3 from stage 0, which is not among the moves");
  BrokenTimetable demanded;
  demanded.sends()[{F, 0}].push_back(3);
  EXPECT_EQ(demanded.fault(), "timetable: stage 0 never sends F0 to stage 3");
}

/// Send after the task, receive before the task that reads: where a send blocks, two stages send to each other.
TEST(Prove, FindsTheTextbookOrderThatDeadlocks) {
  BrokenTimetable broken;
  const Timetable& timetable = broken.timetable();
  for (int z = 0; z < 4; ++z) {
    broken.stage(z).clear();
    for (const Task& task : timetable.orders[static_cast<std::size_t>(z)]) {
      const int from = task.kind == F ? z - 1 : z + 1;
      if (from >= 0 && from < 4) broken.stage(z).push_back(receive_of(task.kind, from, task.micro_batch, from));
      broken.stage(z).push_back(run_of(task.kind, z, task.micro_batch));
      const int to = task.kind == F ? z + 1 : z - 1;
      if (to >= 0 && to < 4) broken.stage(z).push_back(send_of(task.kind, z, task.micro_batch, to));
    }
  }
  EXPECT_EQ(broken.fault(),
            "timetable: deadlock with sends that block: stage 0 sends F3 to stage 1; stage 1 sends F2 to stage 2; "
            "stage 2 sends F1 to stage 3; stage 3 sends B0 to stage 2");
}

TEST(Prove, FindsStagesThatHoldTooMuch) {
  EXPECT_EQ(BrokenTimetable().fault({.held_limits = {4, 3, 2, 1}}), "nothing was refused");
  EXPECT_EQ(BrokenTimetable().fault({.held_limits = {4, 2, 2, 1}}),
            "timetable: stage 1 holds 3 activations at F2; its limit is 2");
  EXPECT_EQ(BrokenTimetable("zb_h1").fault({.held_limits = {4, 4, 4, 3}}),
            "timetable: stage 3 holds 4 activations at F3; its limit is 3");
}

/// A program in which the first stage's B also reads what F of the last stage made.
TEST(Prove, FollowsTheNeedsOfAProgram) {
  BrokenTimetable timetable;
  const ProofOptions options{.needs = [&](const ChunkTask& task) {
    std::vector<ChunkTask> needed = needs(timetable.timetable(), task);
    if (task == ChunkTask{B, 0}) needed.push_back({F, 3});
    return needed;
  }};
  EXPECT_EQ(timetable.fault(options), "timetable: stage 0 runs B0 before F0 has arrived");
  const Pipeline pipeline = even_pipeline("1f1b", 4, 8);
  Sends sends = chain(pipeline.timetable);
  sends[{F, 3}].push_back(0);
  EXPECT_NO_THROW(prove(pipeline.timetable, with_moves(pipeline.timetable, pipeline.timing, sends), sends, options));
}

TEST(Prove, NamesChunksOfAStage) {
  BrokenTimetable broken("interleaved");
  broken.erase(1, run_of(B, 5, 3));
  EXPECT_EQ(broken.fault(), "timetable: stage 1 never runs B3b");
}

}  // namespace
}  // namespace shardline
