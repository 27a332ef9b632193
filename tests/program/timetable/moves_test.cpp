#include "program/timetable/moves.h"

#include <gtest/gtest.h>

#include "program/timetable/prove.h"
#include "tests/program/timetable/pipelines.h"

namespace shardline {
namespace {

constexpr TaskKind F = TaskKind::forward;
constexpr TaskKind B = TaskKind::backward;
constexpr TaskKind I = TaskKind::inputs;

std::string events_text(const Timetable& timetable, const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) text += (text.empty() ? "" : ", ") + to_string(timetable, event);
  return text;
}

TEST(Moves, AChainGoesToNeighbours) {
  EXPECT_EQ(chain(even_pipeline("1f1b", 3, 1).timetable),
            (Sends{{{F, 0}, {1}}, {{F, 1}, {2}}, {{B, 1}, {0}}, {{B, 2}, {1}}}));
  // Chunks 1 and 2 lie on stage 1: nothing goes between them. W goes nowhere.
  EXPECT_EQ(chain(even_pipeline("zb_v", 2, 1).timetable),
            (Sends{{{F, 0}, {1}}, {{F, 2}, {0}}, {{I, 1}, {0}}, {{I, 3}, {1}}}));
  EXPECT_EQ(chain(forward_only(even_pipeline("interleaved", 2, 1).timetable)),
            (Sends{{{F, 0}, {1}}, {{F, 1}, {0}}, {{F, 2}, {1}}}));
  EXPECT_EQ(chain(even_pipeline("zb_v", 1, 1).timetable), Sends{});
}

TEST(Moves, StandWhereTheTaskThatMadeThemEnds) {
  const auto [timetable, timing] = even_pipeline("1f1b", 2, 2);
  const StageEvents events = with_moves(timetable, timing, chain(timetable));
  EXPECT_EQ(events_text(timetable, events[0]),
            "runs F0, sends F0 to stage 1, runs F1, sends F1 to stage 1, receives B0 from stage 1, runs B0, "
            "receives B1 from stage 1, runs B1");
  EXPECT_EQ(events_text(timetable, events[1]),
            "receives F0 from stage 0, runs F0, receives F1 from stage 0, runs B0, sends B0 to stage 0, runs F1, "
            "runs B1, sends B1 to stage 0");
}

/// The moves of a pair of stages, and their direction, in the order of one of them.
using PairMoves = std::vector<std::pair<Task, int>>;

PairMoves moves_between(const StageEvents& events, int stage, int other) {
  PairMoves moves;
  for (const Event& event : events[static_cast<std::size_t>(stage)]) {
    if (event.kind == EventKind::run || event.peer != other) continue;
    moves.emplace_back(event.task, event.kind == EventKind::send ? stage : other);
  }
  return moves;
}

TEST(Moves, BothEndsSeeTheSameOrder) {
  for (const TimetableRow& row : timetable_rows()) {
    const auto [timetable, timing] = uneven_pipeline(std::string(row.name), 4, 7);
    const StageEvents events = with_moves(timetable, timing, chain(timetable));
    for (int z = 0; z < 4; ++z) {
      for (int y = 0; y < z; ++y) EXPECT_EQ(moves_between(events, z, y), moves_between(events, y, z)) << row.name;
    }
  }
}

/// Tasks that take no time begin when others end. Their moves still stand behind them.
TEST(Moves, EmptyStagesMakeNoCircle) {
  for (const TimetableRow& row : timetable_rows()) {
    for (const int empty : {0, 1, 2, 3}) {
      const TaskCosts costs =
          costs_by_chunk(4 * row.chunks_per_stage, {}, [=](int q) { return q % 4 == empty ? 0.0 : 1.0; });
      const Timetable timetable =
          make_timetable({.name = std::string(row.name), .stages = 4, .micro_batches = 6}, costs);
      const Sends sends = chain(timetable);
      EXPECT_NO_THROW(prove(timetable, with_moves(timetable, timed(timetable, costs), sends), sends)) << row.name;
    }
  }
}

TEST(Moves, RefusesSendsToNowhere) {
  const auto [timetable, timing] = even_pipeline("1f1b", 2, 1);
  const auto refusal = [&t = timetable, &timing = timing](const Sends& sends) {
    return fault_message([&] { with_moves(t, timing, sends); });
  };
  EXPECT_EQ(refusal({{{F, 0}, {2}}}),
            "moves: F of chunk 0 goes to stage 2; legal are stages 0 to 1 other than its own, each once");
  EXPECT_EQ(refusal({{{F, 0}, {0}}}),
            "moves: F of chunk 0 goes to stage 0; legal are stages 0 to 1 other than its own, each once");
  EXPECT_EQ(refusal({{{F, 0}, {1, 1}}}),
            "moves: F of chunk 0 goes to stage 1; legal are stages 0 to 1 other than its own, each once");
  EXPECT_EQ(refusal({{{F, 2}, {1}}}),
            "moves: chunk 2 has no task F; legal are chunks 0 to 1 and the timetable's kinds");
  EXPECT_EQ(refusal({{{I, 0}, {1}}}),
            "moves: chunk 0 has no task I; legal are chunks 0 to 1 and the timetable's kinds");
}

}  // namespace
}  // namespace shardline
