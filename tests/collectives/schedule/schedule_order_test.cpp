// The orders in which schedules read their input and complete their output, for 1 to 17 positions and several axes.

#include "collectives/schedule/schedule_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "collectives/schedule/intervals.h"
#include "collectives/schedule/panels.h"
#include "collectives/schedule/schedules.h"

namespace shardline::collectives {
namespace {

constexpr Algorithm kScheduled[] = {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise,
                                    Algorithm::doubling};

std::vector<std::vector<Index>> groups() {
  std::vector<std::vector<Index>> all;
  for (Index p = 1; p <= 17; ++p) all.push_back({p});
  for (const auto& sizes : {std::vector<Index>{2, 2}, {2, 3}, {3, 4}, {4, 4}, {2, 2, 2}, {3, 2, 4}, {2, 2, 2, 2}}) {
    all.push_back(sizes);
  }
  return all;
}

/// Uneven chunks, some of them empty.
std::vector<Range> chunks_for(Index positions) {
  std::vector<Range> chunks;
  Index begin = 0;
  for (Index i = 0; i < positions; ++i) {
    const Index size = i * 5 % 7;
    chunks.push_back({begin, begin + size});
    begin += size;
  }
  return chunks;
}

/// Calls check(algorithm, placement, chunks) for every position of every group.
template <class Check>
void for_each_position(Check check) {
  for (const auto& sizes : groups()) {
    for (const Algorithm algorithm : kScheduled) {
      Placement placement{sizes, 0};
      const std::vector<Range> chunks = chunks_for(placement.positions());
      for (; placement.position < placement.positions(); ++placement.position) {
        SCOPED_TRACE(testing::Message() << name_of(algorithm) << " on " << placement.positions() << " positions in "
                                        << sizes.size() << " axes, position " << placement.position);
        check(algorithm, placement, chunks);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Expects ranges with every element of [0, size) once.
void expect_permutation(const std::vector<Range>& order, Index size) {
  std::vector<int> times(static_cast<std::size_t>(size), 0);
  for (const Range& range : order) {
    ASSERT_GT(range.size(), 0);
    ASSERT_GE(range.begin, 0);
    ASSERT_LE(range.end, size);
    for (Index i = range.begin; i < range.end; ++i) ++times[static_cast<std::size_t>(i)];
  }
  EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int t) { return t == 1; }));
}

/// The place of element `i` in an order.
Index place_of(Index i, const std::vector<Range>& order) {
  Index behind = 0;
  for (const Range& range : order) {
    if (range.begin <= i && i < range.end) return behind + i - range.begin;
    behind += range.size();
  }
  return -1;
}

/// Expects no writes to the output after it has settled. Writes of one strand are in its order. Writes of
/// different strands must not overlap.
void expect_settled_for_good(const Schedule& schedule) {
  Intervals of_others;
  for (const Strand& strand : schedule.strands) {
    Intervals settled;
    const auto write = [&](const Piece& into, bool settles_it) {
      if (into.buffer != Buffer::output || into.size() == 0) return;
      ASSERT_TRUE(of_others.missing(into.range) == std::vector<Range>{into.range});
      ASSERT_TRUE(settled.missing(into.range) == std::vector<Range>{into.range});
      if (settles_it) settled.add(into.range);
    };
    for (const Round& round : strand) {
      for (const Local& local : round.locals) write(local.into, settles(local));
      for (const Receive& receive : round.receives) write(receive.into, settles(receive));
    }
    for (const Round& round : strand) {
      for (const Receive& receive : round.receives) {
        if (settles(receive)) of_others.add(receive.into.range);
      }
    }
  }
}

TEST(ScheduleOrder, AGatherBringsEveryElementOnceTheOwnBlockFirst) {
  for_each_position([](Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
    const Schedule schedule = all_gather_schedule(algorithm, placement, chunks);
    const Range own = chunks[static_cast<std::size_t>(placement.position)];
    const std::vector<Range> order = arrival_order(schedule, own);
    expect_permutation(order, chunks.back().end);
    if (own.size() > 0) {
      EXPECT_EQ(order.front().begin, own.begin);
    }
    if (algorithm != Algorithm::doubling) expect_settled_for_good(schedule);
    if (placement.positions() > 1) expect_permutation(reading_order(schedule), own.size());
  });
}

TEST(ScheduleOrder, ARingBringsTheBlocksOfItsNeighboursInTurn) {
  const std::vector<Range> chunks{{0, 2}, {2, 4}, {4, 6}, {6, 8}};
  const Schedule schedule = all_gather_schedule(Algorithm::ring, on_one_axis(4, 1), chunks);
  EXPECT_EQ(arrival_order(schedule, chunks[1]), (std::vector<Range>{{2, 4}, {0, 2}, {6, 8}, {4, 6}}));
}

TEST(ScheduleOrder, AReductionReadsEveryElementOnceAndSettlesItsResult) {
  for_each_position([](Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
    if (placement.positions() == 1) return;
    const Range own = chunks[static_cast<std::size_t>(placement.position)];
    const Schedule scatter = reduce_scatter_schedule(algorithm, placement, chunks);
    expect_permutation(reading_order(scatter), chunks.back().end);
    expect_permutation(arrival_order(scatter, {}), own.size());
    expect_settled_for_good(scatter);
    const Schedule reduce = all_reduce_schedule(algorithm, placement, chunks.back().end);
    expect_permutation(reading_order(reduce), chunks.back().end);
    expect_permutation(arrival_order(reduce, {}), chunks.back().end);
    expect_settled_for_good(reduce);
  });
}

TEST(ScheduleOrder, WhatIsSentFirstIsReadFirst) {
  for_each_position([](Algorithm algorithm, const Placement& placement, const std::vector<Range>& chunks) {
    const Schedule schedule = reduce_scatter_schedule(algorithm, placement, chunks);
    const std::vector<Range> order = reading_order(schedule);
    Index latest_sent = -1;
    for (const Strand& strand : schedule.strands) {
      if (strand.empty() || !strand.front().locals.empty()) continue;
      for (const Send& send : strand.front().sends) {
        if (send.from.size() > 0 && send.from.buffer == Buffer::input) {
          latest_sent = std::max(latest_sent, place_of(send.from.range.end - 1, order));
        }
      }
    }
    // Ring and pairwise add the own chunk at the end, if there are other positions.
    const Range own = chunks[static_cast<std::size_t>(placement.position)];
    const bool last = algorithm == Algorithm::ring || algorithm == Algorithm::pairwise;
    if (last && own.size() > 0 && placement.positions() > 1) {
      EXPECT_EQ(place_of(own.end - 1, order), chunks.back().end - 1);
      EXPECT_LT(latest_sent, place_of(own.begin, order));
    }
  });
}

TEST(Intervals, AgreeWithAnArrayOfFlags) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Intervals intervals;
    std::vector<bool> flags(40, false);
    const auto range = [&] {
      const auto a = static_cast<Index>(random() % 41);
      const auto b = static_cast<Index>(random() % 41);
      return Range{std::min(a, b), std::max(a, b)};
    };
    for (int k = 0; k < 6; ++k) {
      const Range added = range();
      intervals.add(added);
      std::fill(flags.begin() + added.begin, flags.begin() + added.end, true);
      const Range asked = range();
      EXPECT_EQ(intervals.contains(asked),
                std::all_of(flags.begin() + asked.begin, flags.begin() + asked.end, [](bool flag) { return flag; }));
      EXPECT_EQ(intervals.size(), std::count(flags.begin(), flags.end(), true));
      std::vector<bool> filled = flags;
      for (const Range& gap : intervals.missing(asked)) {
        for (Index i = gap.begin; i < gap.end; ++i) {
          EXPECT_FALSE(filled[static_cast<std::size_t>(i)]);
          filled[static_cast<std::size_t>(i)] = true;
        }
      }
      EXPECT_TRUE(std::all_of(filled.begin() + asked.begin, filled.begin() + asked.end, [](bool f) { return f; }));
    }
  }
}

/// Rows of `elements` elements in blocks of 0, 3, 4 and 1 rows.
Rows four_blocks(Index elements, Index panel) {
  return {.count = 8, .elements = elements, .panel = panel, .blocks = {{0, 0}, {0, 3}, {3, 7}, {7, 8}}};
}

TEST(Panels, HoldEveryRowOnceAndStayWithinBlocks) {
  std::mt19937 random(9);
  for (const Index elements : {Index{0}, Index{1}, Index{3}}) {
    for (Index panel = 1; panel <= 9; ++panel) {
      const Rows rows = four_blocks(elements, panel);
      std::vector<Range> order;
      for (Index i = 0; i < rows.count * elements; ++i) order.push_back({i, i + 1});
      std::shuffle(order.begin(), order.end(), random);
      for (const auto& all : {panels(rows), panels_as_completed(rows, order), panels_as_touched(rows, order)}) {
        expect_permutation(all, rows.count);
        for (const Range& range : all) {
          EXPECT_LE(range.size(), panel);
          EXPECT_TRUE(std::any_of(rows.blocks.begin(), rows.blocks.end(), [&](const Range& block) {
            return block.begin <= range.begin && range.end <= block.end;
          }));
        }
      }
    }
  }
}

TEST(Panels, APanelComesWithItsLastElementOrWithItsFirst) {
  const Rows rows{.count = 4, .elements = 4, .panel = 2, .blocks = {{0, 4}}};
  const std::vector<Range> halves{{10, 16}, {0, 10}};
  EXPECT_EQ(panels_as_completed(rows, halves), (std::vector<Range>{{0, 2}, {2, 4}}));
  EXPECT_EQ(panels_as_touched(rows, halves), (std::vector<Range>{{2, 4}, {0, 2}}));
  const std::vector<Range> thirds{{8, 16}, {4, 8}, {0, 4}};
  EXPECT_EQ(panels_as_completed(rows, thirds), (std::vector<Range>{{2, 4}, {0, 2}}));
  const std::vector<Range> one_element_short{{0, 3}, {4, 16}};
  EXPECT_EQ(panels_as_completed(rows, one_element_short), (std::vector<Range>{{2, 4}, {0, 2}}));
  EXPECT_EQ(panels_as_touched(rows, {{9, 10}}), (std::vector<Range>{{2, 4}, {0, 2}}));
}

TEST(Panels, AreNearEqual) {
  const Rows rows{.count = 9, .elements = 1, .panel = 4, .blocks = {{0, 9}}};
  EXPECT_EQ(panels(rows), (std::vector<Range>{{0, 3}, {3, 6}, {6, 9}}));
}

}  // namespace
}  // namespace shardline::collectives
