// Counts beyond 2^31 without the memory. The schedule of a huge array must equal the schedule of a small one
// with every number of elements multiplied. The simulator has checked the small one.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/schedule/packing.h"
#include "collectives/schedule/reshard_plan.h"
#include "collectives/schedule/schedules.h"
#include "collectives/schedule/traffic.h"
#include "tests/collectives/shardings.h"

namespace shardline::collectives {
namespace {

using Sizes = std::vector<Index>;

constexpr Index kFactor = Index{1} << 33;
constexpr Algorithm kScheduled[] = {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise,
                                    Algorithm::doubling};

std::vector<Sizes> groups() {
  std::vector<Sizes> all;
  for (Index p = 1; p <= 9; ++p) all.push_back({p});
  for (const Sizes& sizes : {Sizes{2, 2}, Sizes{2, 3}, Sizes{3, 3}, Sizes{4, 2}, Sizes{2, 2, 2}}) all.push_back(sizes);
  return all;
}

/// Divisible by all divisors of a block in the algorithms for groups(): axes, directions and other positions.
constexpr Index kBlock = 2520 * 4;

Range times(Range range, Index factor) { return {range.begin * factor, range.end * factor}; }
Piece times(const Piece& piece, Index factor) { return {piece.buffer, times(piece.range, factor)}; }

void expect_multiplied(const Round& small, const Round& huge) {
  ASSERT_EQ(huge.sends.size(), small.sends.size());
  ASSERT_EQ(huge.receives.size(), small.receives.size());
  ASSERT_EQ(huge.locals.size(), small.locals.size());
  for (std::size_t k = 0; k < small.sends.size(); ++k) {
    EXPECT_EQ(huge.sends[k].peer, small.sends[k].peer);
    EXPECT_EQ(huge.sends[k].from, times(small.sends[k].from, kFactor));
  }
  for (std::size_t k = 0; k < small.receives.size(); ++k) {
    EXPECT_EQ(huge.receives[k].peer, small.receives[k].peer);
    EXPECT_EQ(huge.receives[k].into, times(small.receives[k].into, kFactor));
    EXPECT_EQ(huge.receives[k].operand, times(small.receives[k].operand, kFactor));
  }
  for (std::size_t k = 0; k < small.locals.size(); ++k) {
    EXPECT_EQ(huge.locals[k].into, times(small.locals[k].into, kFactor));
    ASSERT_EQ(huge.locals[k].from.size(), small.locals[k].from.size());
    for (std::size_t i = 0; i < small.locals[k].from.size(); ++i) {
      EXPECT_EQ(huge.locals[k].from[i], times(small.locals[k].from[i], kFactor));
    }
  }
}

void expect_multiplied(const Schedule& small, const Schedule& huge) {
  EXPECT_EQ(huge.work_size, small.work_size * kFactor);
  EXPECT_EQ(busiest_direction(huge, {4, 4}), busiest_direction(small, {4, 4}) * kFactor);
  ASSERT_EQ(huge.strands.size(), small.strands.size());
  for (std::size_t s = 0; s < small.strands.size(); ++s) {
    ASSERT_EQ(huge.strands[s].size(), small.strands[s].size());
    for (std::size_t t = 0; t < small.strands[s].size(); ++t) {
      expect_multiplied(small.strands[s][t], huge.strands[s][t]);
    }
  }
}

/// Calls `check(algorithm, placement)` for every algorithm and every position of every group.
template <class Check>
void for_all(Check check) {
  for (const Sizes& sizes : groups()) {
    for (const Algorithm algorithm : kScheduled) {
      for (Index i = 0; i < Placement{sizes, 0}.positions(); ++i) {
        SCOPED_TRACE(fmt::format("{}, axes of {}, position {}", name_of(algorithm), to_string(sizes), i));
        ASSERT_NO_FATAL_FAILURE(check(algorithm, Placement{sizes, i}));
      }
    }
  }
}

std::vector<Range> blocks(Index positions, Index size) {
  std::vector<Range> all;
  for (Index i = 0; i < positions; ++i) all.push_back({i * size, (i + 1) * size});
  return all;
}

TEST(Huge, SchedulesAreThoseOfSmallArraysMultiplied) {
  for_all([](Algorithm algorithm, const Placement& at) {
    const Index p = at.positions();
    const std::vector<Range> small = blocks(p, kBlock);
    const std::vector<Range> huge = blocks(p, kBlock * kFactor);
    expect_multiplied(all_gather_schedule(algorithm, at, small), all_gather_schedule(algorithm, at, huge));
    expect_multiplied(reduce_scatter_schedule(algorithm, at, small), reduce_scatter_schedule(algorithm, at, huge));
    expect_multiplied(all_reduce_schedule(algorithm, at, small.back().end),
                      all_reduce_schedule(algorithm, at, huge.back().end));
    const auto exchange = [&](const std::vector<Range>& ranges) {
      return all_to_all_schedule(algorithm, at, {ranges, ranges, [&](Index, Index) { return ranges[0].size(); }});
    };
    expect_multiplied(exchange(small), exchange(huge));
    if (algorithm != Algorithm::ring) return;
    expect_multiplied(shift_schedule(algorithm, at, kBlock, 3 * kBlock, 1),
                      shift_schedule(algorithm, at, kBlock * kFactor, 3 * kBlock * kFactor, 1));
  });
}

TEST(Huge, TrafficIsThatOfSmallArraysMultiplied) {
  for (const Sizes& sizes : groups()) {
    const Index elements = kBlock * Placement{sizes, 0}.positions();
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::all_to_all}) {
      for (const Algorithm algorithm :
           {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise, Algorithm::doubling, Algorithm::direct}) {
        const Traffic small = traffic(kind, algorithm, sizes, elements, {4, 4});
        EXPECT_EQ(traffic(kind, algorithm, sizes, elements * kFactor, {4, 4}),
                  (Traffic{small.rounds, small.wire_bytes * kFactor}))
            << name_of(kind) << " " << name_of(algorithm) << " " << to_string(sizes);
      }
    }
  }
  // 2^33 elements of 4 bytes: 32 GiB. In a gather, 7 / 8 of them leave each of 8 positions.
  EXPECT_EQ(traffic(Kind::all_gather, Algorithm::ring, {8}, kFactor, {4, 4}), (Traffic{7, Index{28} << 30}));
}

TEST(Huge, BoxesAreWalkedWithLargeCounts) {
  // Copies columns [0, 2^32) of an array [2, 2^33] into an array of their own.
  BoxWalk walk({2, kFactor}, {{0, 2}, {0, kFactor / 2}}, {2, kFactor / 2}, whole({2, kFactor / 2}));
  EXPECT_EQ(walk.size(), kFactor);
  for (const Index row : {0, 1}) {
    const BoxWalk::Strip strip = walk.next(kFactor);
    EXPECT_EQ(strip.from, row * kFactor);
    EXPECT_EQ(strip.to, row * kFactor / 2);
    EXPECT_EQ(strip.count, kFactor / 2);
  }
  EXPECT_TRUE(walk.done());
  const Chunks chunks = packed_chunks({whole({3, kFactor}), whole({5, kFactor})});
  EXPECT_EQ(chunks.ranges, (std::vector<Range>{{0, 3 * kFactor}, {3 * kFactor, 8 * kFactor}}));
}

TEST(Huge, ReshardPlansAreThoseOfSmallArraysMultiplied) {
  const AbstractMesh mesh({{"X", 2}, {"Y", 3}});
  const auto multiplied = [](std::vector<Box> boxes) {
    for (Box& box : boxes) box[0] = times(box[0], kFactor);
    return boxes;
  };
  for (const Sharding& from : all_shardings(2, mesh.axes())) {
    for (const Sharding& to : all_shardings(2, mesh.axes())) {
      for (Index rank = 0; rank < mesh.ranks(); ++rank) {
        const ReshardPlan small = reshard_plan({36, 5}, from, to, mesh, rank);
        const ReshardPlan huge = reshard_plan({36 * kFactor, 5}, from, to, mesh, rank);
        ASSERT_EQ(huge.sends, multiplied(small.sends));
        ASSERT_EQ(huge.receives, multiplied(small.receives));
      }
    }
  }
}

}  // namespace
}  // namespace shardline::collectives
