// Every schedule for 1 to 17 positions, simulated and compared with what the collective means.

#include "collectives/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "collectives/all_gather.h"
#include "collectives/all_reduce.h"
#include "collectives/all_to_all.h"
#include "collectives/reduce_scatter.h"
#include "collectives/shift.h"
#include "runtime/base/check.h"
#include "tests/collectives/simulate.h"

namespace shardline::collectives {
namespace {

constexpr Index kMostPositions = 17;
using Counts = std::vector<Index>;
using Values = std::vector<Index>;

/// Ways to give blocks to `p` positions: all equal, uneven, empty ones at the end, one position only, nothing at all.
std::vector<Counts> block_sizes(Index p) {
  std::vector<Counts> all;
  const auto add = [&](auto count_of) {
    Counts counts;
    for (Index i = 0; i < p; ++i) counts.push_back(count_of(i));
    all.push_back(counts);
  };
  add([](Index) { return Index{3}; });
  add([](Index i) { return i * 5 % 7; });
  add([p](Index i) { return i < p / 2 ? Index{1} : Index{0}; });
  add([p](Index i) { return i == p - 1 ? Index{4} : Index{0}; });
  add([](Index) { return Index{0}; });
  return all;
}

std::vector<Range> places(const Counts& counts) {
  std::vector<Range> ranges;
  Index begin = 0;
  for (const Index count : counts) {
    ranges.push_back({begin, begin + count});
    begin += count;
  }
  return ranges;
}

Index total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), Index{0}); }

/// Element `i` of what position `position` brings.
Index value(Index position, Index i) { return 1000 * (position + 1) + i; }

Values operand(Index position, Index size) {
  Values values;
  for (Index i = 0; i < size; ++i) values.push_back(value(position, i));
  return values;
}

/// Tells orders of combination apart.
Index ordered(Index received, Index own) { return (received * 31 + own) % 1000000007; }

/// Element `i` of the chunk of position `owner` combined in the order that reduce_scatter promises.
Index combined_in_order(Index owner, Index p, Index i) {
  Index result = value((owner + 1) % p, i);
  for (Index k = 2; k <= p; ++k) result = ordered(result, value((owner + k) % p, i));
  return result;
}

/// Runs `check` for every number of positions and every way to size the blocks.
template <class Check>
void for_all_sizes(Check check) {
  for (Index p = 1; p <= kMostPositions; ++p) {
    for (const Counts& counts : block_sizes(p)) {
      SCOPED_TRACE(fmt::format("{} positions, blocks {}", p, to_string(counts)));
      check(p, counts);
    }
  }
}

TEST(Schedule, AllGatherBringsEveryBlock) {
  for_all_sizes([](Index p, const Counts& counts) {
    const std::vector<Range> chunks = places(counts);
    Scenario scenario{p, [&](Index i) { return all_gather_schedule(Algorithm::ring, chunks, i); }, {}, {}};
    for (Index i = 0; i < p; ++i) {
      scenario.inputs.push_back(operand(i, counts[static_cast<std::size_t>(i)]));
      scenario.output_sizes.push_back(total(counts));
    }
    const Outcome outcome = simulate(scenario);
    for (Index i = 0; i < p; ++i) {
      for (Index from = 0; from < p; ++from) {
        for (Index k = 0; k < counts[static_cast<std::size_t>(from)]; ++k) {
          const auto place = static_cast<std::size_t>(chunks[static_cast<std::size_t>(from)].begin + k);
          // The own block is the caller's to place.
          ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)][place], from == i ? kUntouched : value(from, k));
        }
      }
      const Index successors = counts[static_cast<std::size_t>((i + 1) % p)];
      EXPECT_EQ(outcome.sent[static_cast<std::size_t>(i)], p == 1 ? 0 : total(counts) - successors);
    }
  });
}

TEST(Schedule, ReduceScatterCombinesInTheOrderOfTheRing) {
  for_all_sizes([](Index p, const Counts& counts) {
    if (p == 1) return;
    const std::vector<Range> chunks = places(counts);
    Scenario scenario{p, [&](Index i) { return reduce_scatter_schedule(Algorithm::ring, chunks, i); }, {}, {}};
    scenario.combine = ordered;
    for (Index i = 0; i < p; ++i) {
      scenario.inputs.push_back(operand(i, total(counts)));
      scenario.output_sizes.push_back(counts[static_cast<std::size_t>(i)]);
    }
    const Outcome outcome = simulate(scenario);
    for (Index i = 0; i < p; ++i) {
      const Range chunk = chunks[static_cast<std::size_t>(i)];
      for (Index k = 0; k < chunk.size(); ++k) {
        ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)],
                  combined_in_order(i, p, chunk.begin + k));
      }
      EXPECT_EQ(outcome.sent[static_cast<std::size_t>(i)], total(counts) - chunk.size());
    }
  });
}

/// The block rule, said once more: position `i` of `p` owns [i n / p ...) with the larger blocks first.
Index owner_of(Index element, Index n, Index p) {
  const Index least = n / p;
  const Index larger = n % p;
  const Index in_larger = larger * (least + 1);
  return element < in_larger ? element / (least + 1) : larger + (element - in_larger) / least;
}

TEST(Schedule, AllReduceGivesEveryPositionTheSame) {
  for (Index p = 2; p <= kMostPositions; ++p) {
    for (const Index n : {Index{0}, Index{1}, p - 1, p, p + 1, Index{23}, 3 * p}) {
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(fmt::format("{} positions, {} elements, in place {}", p, n, in_place));
        Scenario scenario{p, [&](Index i) { return all_reduce_schedule(Algorithm::ring, n, p, i); }, {}, {}, in_place};
        scenario.combine = ordered;
        for (Index i = 0; i < p; ++i) scenario.inputs.push_back(operand(i, n));
        scenario.output_sizes.assign(static_cast<std::size_t>(p), n);
        Values expected;
        for (Index k = 0; k < n; ++k) expected.push_back(combined_in_order(owner_of(k, n, p), p, k));
        for (const Values& output : simulate(scenario).outputs) ASSERT_EQ(output, expected);
      }
    }
  }
}

TEST(Schedule, AllToAllTransposesTheBlocks) {
  const auto count = [](Index from, Index to, bool sparse) { return sparse ? (from + 2 * to) % 3 : Index{2}; };
  for (Index p = 1; p <= kMostPositions; ++p) {
    for (const bool sparse : {false, true}) {
      SCOPED_TRACE(fmt::format("{} positions, uneven {}", p, sparse));
      const auto sends = [&](Index i) {
        Counts counts;
        for (Index j = 0; j < p; ++j) counts.push_back(count(i, j, sparse));
        return counts;
      };
      const auto receives = [&](Index i) {
        Counts counts;
        for (Index j = 0; j < p; ++j) counts.push_back(count(j, i, sparse));
        return counts;
      };
      Scenario scenario{
          p,
          [&](Index i) { return all_to_all_schedule(Algorithm::ring, places(sends(i)), places(receives(i)), i); },
          {},
          {}};
      for (Index i = 0; i < p; ++i) {
        scenario.inputs.push_back(operand(i, total(sends(i))));
        scenario.output_sizes.push_back(total(receives(i)));
      }
      const Outcome outcome = simulate(scenario);
      for (Index i = 0; i < p; ++i) {
        Values expected;
        for (Index from = 0; from < p; ++from) {
          const Index begin = places(sends(from))[static_cast<std::size_t>(i)].begin;
          for (Index k = 0; k < count(from, i, sparse); ++k) {
            expected.push_back(from == i ? kUntouched : value(from, begin + k));
          }
        }
        ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)], expected);
        EXPECT_EQ(outcome.sent[static_cast<std::size_t>(i)], total(sends(i)) - count(i, i, sparse));
      }
    }
  }
}

TEST(Schedule, ShiftTakesFromOffsetPlacesBehind) {
  for_all_sizes([](Index p, const Counts& counts) {
    for (const Index offset : {Index{1}, Index{-1}, Index{0}, Index{2}, p, p + 1, -2 * p - 3}) {
      const auto giver = [&](Index i) { return ((i - offset) % p + p) % p; };
      Scenario scenario{p,
                        [&](Index i) {
                          return shift_schedule(Algorithm::ring, counts[static_cast<std::size_t>(i)],
                                                counts[static_cast<std::size_t>(giver(i))], offset, p, i);
                        },
                        {},
                        {}};
      for (Index i = 0; i < p; ++i) {
        scenario.inputs.push_back(operand(i, counts[static_cast<std::size_t>(i)]));
        scenario.output_sizes.push_back(counts[static_cast<std::size_t>(giver(i))]);
      }
      if (giver(0) == 0) {
        for (const Index sent : simulate(scenario).sent) EXPECT_EQ(sent, 0);
        continue;
      }
      const Outcome outcome = simulate(scenario);
      for (Index i = 0; i < p; ++i) {
        ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)],
                  operand(giver(i), counts[static_cast<std::size_t>(giver(i))]))
            << "offset " << offset;
      }
    }
  });
}

TEST(Schedule, NativeHasNone) {
  EXPECT_THROW(all_gather_schedule(Algorithm::native, {{0, 1}, {1, 2}}, 0), Error);
  EXPECT_THROW(reduce_scatter_schedule(Algorithm::native, {{0, 1}, {1, 2}}, 0), Error);
  EXPECT_THROW(all_reduce_schedule(Algorithm::native, 4, 2, 0), Error);
  EXPECT_THROW(shift_schedule(Algorithm::native, 4, 4, 1, 2, 0), Error);
}

// The simulator itself must see what it is there to see.

Scenario two_positions(const std::function<Schedule(Index)>& schedule_of) {
  return {2, schedule_of, {{1, 2}, {3, 4}}, {2, 2}};
}

TEST(Simulate, SeesADeadlock) {
  const auto both_send_first = [](Index i) {
    Schedule schedule;
    schedule.add({{{1 - i, {Buffer::input, {0, 2}}}}, {}});
    schedule.add({{}, {{1 - i, {Buffer::output, {0, 2}}, Action::copy, {}}}});
    return schedule;
  };
  EXPECT_THROW(simulate(two_positions(both_send_first)), std::runtime_error);
}

TEST(Simulate, SeesUnequalSizes) {
  const auto unequal = [](Index i) {
    Schedule schedule;
    schedule.add({{{1 - i, {Buffer::input, {0, 2}}}}, {{1 - i, {Buffer::output, {0, 1}}, Action::copy, {}}}});
    return schedule;
  };
  EXPECT_THROW(simulate(two_positions(unequal)), std::runtime_error);
}

TEST(Simulate, SeesTransfersThatDependOnEachOther) {
  const auto sent_from_what_arrives = [](Index i) {
    Schedule schedule;
    schedule.add({{{1 - i, {Buffer::output, {0, 2}}}}, {{1 - i, {Buffer::output, {1, 2}}, Action::copy, {}}}});
    return schedule;
  };
  EXPECT_THROW(simulate(two_positions(sent_from_what_arrives)), std::runtime_error);
}

}  // namespace
}  // namespace shardline::collectives
