// Simulates every schedule of every algorithm for 1 to 17 positions, on one axis and on several. Compares the
// result with the definition of the collective.

#include "collectives/schedule/schedule.h"
#include "collectives/schedule/schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/base/check.h"
#include "tests/collectives/schedule/simulate.h"

namespace shardline::collectives {
namespace {

using Counts = std::vector<Index>;
using Values = std::vector<Index>;

constexpr Algorithm kScheduled[] = {Algorithm::ring, Algorithm::bidirectional, Algorithm::pairwise,
                                    Algorithm::doubling};

/// Axis sizes of the groups.
std::vector<Counts> groups() {
  std::vector<Counts> all;
  for (Index p = 1; p <= 17; ++p) all.push_back({p});
  for (const Counts& sizes : {Counts{2, 2}, Counts{2, 3}, Counts{3, 2}, Counts{3, 3}, Counts{4, 2}, Counts{4, 4},
                              Counts{2, 2, 2}, Counts{3, 2, 4}, Counts{2, 2, 2, 2}, Counts{2, 2, 2, 2, 2}}) {
    all.push_back(sizes);
  }
  return all;
}

/// Block sizes of `p` positions: all equal, uneven, empty ones at the end, one position only, all empty.
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

/// Element `i` of the operand of `position`. A sum shows the part of every position.
Index value(Index position, Index i) { return (Index{1} << (2 * position % 46)) * 4096 + i; }

Values operand(Index position, Index size) {
  Values values;
  for (Index i = 0; i < size; ++i) values.push_back(value(position, i));
  return values;
}

/// Different orders of combination give different results.
Index ordered(Index a, Index b) { return (a % 1000000007 * 31 + b) % 1000000007; }

/// Shows if a result was completed exactly once.
Index completed(Index sum) { return -sum - 1; }

/// Element `i` of the chunk of position `owner`, combined in the documented order of the algorithm.
Index combined_in_order(Algorithm algorithm, Index owner, Index p, Index i) {
  const Index first = algorithm == Algorithm::ring ? owner + 1 : 0;
  Index result = value(first % p, i);
  for (Index k = 1; k < p; ++k) result = ordered(result, value((first + k) % p, i));
  return result;
}

Index sum_of_all(Index p, Index i) {
  Index sum = 0;
  for (Index k = 0; k < p; ++k) sum += value(k, i);
  return sum;
}

/// Runs `check(algorithm, axis sizes, blocks)` for every algorithm, group and list of block sizes.
template <class Check>
void for_all(Check check) {
  for (const Counts& sizes : groups()) {
    const Index p = Placement{sizes, 0}.positions();
    for (const Algorithm algorithm : kScheduled) {
      for (const Counts& counts : block_sizes(p)) {
        SCOPED_TRACE(fmt::format("{}, axes of {}, blocks {}", name_of(algorithm), to_string(sizes), to_string(counts)));
        check(algorithm, sizes, counts);
      }
    }
  }
}

TEST(Schedule, AllGatherBringsEveryBlock) {
  for_all([](Algorithm algorithm, const Counts& sizes, const Counts& counts) {
    const std::vector<Range> chunks = places(counts);
    const auto p = static_cast<Index>(counts.size());
    Scenario scenario{p, [&](Index i) { return all_gather_schedule(algorithm, {sizes, i}, chunks); }, {}, {}};
    for (Index i = 0; i < p; ++i) {
      scenario.inputs.push_back(operand(i, counts[static_cast<std::size_t>(i)]));
      scenario.output_sizes.push_back(total(counts));
    }
    const Outcome outcome = simulate(scenario);
    for (Index i = 0; i < p; ++i) {
      for (Index from = 0; from < p; ++from) {
        for (Index k = 0; k < counts[static_cast<std::size_t>(from)]; ++k) {
          const auto place = static_cast<std::size_t>(chunks[static_cast<std::size_t>(from)].begin + k);
          const Index got = outcome.outputs[static_cast<std::size_t>(i)][place];
          // The caller places the own block.
          ASSERT_TRUE(got == value(from, k) || (from == i && got == kUntouched))
              << i << " has of " << from << " " << got;
        }
      }
    }
  });
}

TEST(Schedule, ReduceScatterCombinesEveryOperandOnce) {
  for_all([](Algorithm algorithm, const Counts& sizes, const Counts& counts) {
    const auto p = static_cast<Index>(counts.size());
    if (p == 1) return;
    const std::vector<Range> chunks = places(counts);
    Scenario scenario{p, [&](Index i) { return reduce_scatter_schedule(algorithm, {sizes, i}, chunks); }, {}, {}};
    scenario.last = completed;
    for (Index i = 0; i < p; ++i) {
      scenario.inputs.push_back(operand(i, total(counts)));
      scenario.output_sizes.push_back(counts[static_cast<std::size_t>(i)]);
    }
    const Outcome outcome = simulate(scenario);
    scenario.combine = ordered;
    const Outcome in_order = simulate(scenario);
    for (Index i = 0; i < p; ++i) {
      const Range chunk = chunks[static_cast<std::size_t>(i)];
      for (Index k = 0; k < chunk.size(); ++k) {
        const auto place = static_cast<std::size_t>(k);
        ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)][place], completed(sum_of_all(p, chunk.begin + k)));
        if (algorithm != Algorithm::ring && algorithm != Algorithm::pairwise) continue;
        ASSERT_EQ(in_order.outputs[static_cast<std::size_t>(i)][place],
                  completed(combined_in_order(algorithm, i, p, chunk.begin + k)));
      }
    }
  });
}

/// The block rule, written again: position `i` of `p` owns [i n / p ...), the larger blocks first.
Index owner_of(Index element, Index n, Index p) {
  const Index least = n / p;
  const Index larger = n % p;
  const Index in_larger = larger * (least + 1);
  return element < in_larger ? element / (least + 1) : larger + (element - in_larger) / least;
}

void check_all_reduce(Algorithm algorithm, const Counts& sizes, Index n, bool in_place) {
  const Index p = Placement{sizes, 0}.positions();
  Scenario scenario{p, [&](Index i) { return all_reduce_schedule(algorithm, {sizes, i}, n); }, {}, {}, in_place};
  scenario.last = completed;
  for (Index i = 0; i < p; ++i) scenario.inputs.push_back(operand(i, n));
  scenario.output_sizes.assign(static_cast<std::size_t>(p), n);
  Values sums;
  for (Index k = 0; k < n; ++k) sums.push_back(completed(sum_of_all(p, k)));
  for (const Values& output : simulate(scenario).outputs) ASSERT_EQ(output, sums);

  scenario.combine = ordered;
  scenario.seed = 5;
  const Outcome outcome = simulate(scenario);
  for (const Values& output : outcome.outputs) ASSERT_EQ(output, outcome.outputs[0]) << "positions differ in order";
  scenario.seed = 6;
  ASSERT_EQ(simulate(scenario).outputs, outcome.outputs) << "the order depends on who comes first";
  if (algorithm != Algorithm::ring && algorithm != Algorithm::pairwise) return;
  for (Index k = 0; k < n; ++k) {
    ASSERT_EQ(outcome.outputs[0][static_cast<std::size_t>(k)],
              completed(combined_in_order(algorithm, owner_of(k, n, p), p, k)));
  }
}

TEST(Schedule, AllReduceGivesEveryPositionTheSame) {
  for (const Counts& sizes : groups()) {
    const Index p = Placement{sizes, 0}.positions();
    if (p == 1) continue;
    for (const Algorithm algorithm : kScheduled) {
      for (const Index n : {Index{0}, Index{1}, p - 1, p, p + 1, Index{23}, 4 * p}) {
        for (const bool in_place : {false, true}) {
          SCOPED_TRACE(fmt::format("{}, axes of {}, {} elements, in place {}", name_of(algorithm), to_string(sizes), n,
                                   in_place));
          check_all_reduce(algorithm, sizes, n, in_place);
        }
      }
    }
  }
}

void check_all_to_all(Algorithm algorithm, const Counts& sizes, const std::function<Index(Index, Index)>& count) {
  const Index p = Placement{sizes, 0}.positions();
  const auto row = [&](Index i, bool sends) {
    Counts counts;
    for (Index j = 0; j < p; ++j) counts.push_back(sends ? count(i, j) : count(j, i));
    return counts;
  };
  Scenario scenario{p,
                    [&](Index i) {
                      const Exchange exchange{places(row(i, true)), places(row(i, false)), count};
                      return all_to_all_schedule(algorithm, {sizes, i}, exchange);
                    },
                    {},
                    {}};
  for (Index i = 0; i < p; ++i) {
    scenario.inputs.push_back(operand(i, total(row(i, true))));
    scenario.output_sizes.push_back(total(row(i, false)));
  }
  const Outcome outcome = simulate(scenario);
  for (Index i = 0; i < p; ++i) {
    Values expected;
    for (Index from = 0; from < p; ++from) {
      const Index begin = places(row(from, true))[static_cast<std::size_t>(i)].begin;
      for (Index k = 0; k < count(from, i); ++k) expected.push_back(from == i ? kUntouched : value(from, begin + k));
    }
    ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)], expected);
  }
}

TEST(Schedule, AllToAllTransposesTheBlocks) {
  for (const Counts& sizes : groups()) {
    for (const Algorithm algorithm : kScheduled) {
      SCOPED_TRACE(fmt::format("{}, axes of {}", name_of(algorithm), to_string(sizes)));
      check_all_to_all(algorithm, sizes, [](Index, Index) { return Index{4}; });
      check_all_to_all(algorithm, sizes, [](Index from, Index to) { return (from + 2 * to) % 3; });
    }
  }
}

TEST(Schedule, ShiftTakesFromOffsetPlacesBehind) {
  for (Index p = 1; p <= 17; ++p) {
    for (const Counts& counts : block_sizes(p)) {
      for (const Index offset : {Index{1}, Index{-1}, Index{0}, Index{2}, p, p + 1, -2 * p - 3}) {
        const auto giver = [&](Index i) { return ((i - offset) % p + p) % p; };
        const auto size = [&](Index i) { return counts[static_cast<std::size_t>(i)]; };
        Scenario scenario{p,
                          [&](Index i) {
                            return shift_schedule(Algorithm::ring, on_one_axis(p, i), size(i), size(giver(i)), offset);
                          },
                          {},
                          {}};
        for (Index i = 0; i < p; ++i) {
          scenario.inputs.push_back(operand(i, size(i)));
          scenario.output_sizes.push_back(size(giver(i)));
        }
        const Outcome outcome = simulate(scenario);
        for (Index i = 0; i < p; ++i) {
          if (giver(0) == 0) {
            EXPECT_EQ(outcome.sent_by(i), 0);
          } else {
            ASSERT_EQ(outcome.outputs[static_cast<std::size_t>(i)], operand(giver(i), size(giver(i)))) << offset;
          }
        }
      }
    }
  }
}

/// The elements on the busiest link of a collective on equal blocks, counted by the simulator.
Index busiest_link(Index p, const std::function<Schedule(Index)>& schedule_of, Index in, Index out) {
  Scenario scenario{p, schedule_of,
                    std::vector<Values>(static_cast<std::size_t>(p), Values(static_cast<std::size_t>(in))),
                    Counts(static_cast<std::size_t>(p), out)};
  Index most = 0;
  for (const auto& to : simulate(scenario).sent) most = std::max(most, *std::max_element(to.begin(), to.end()));
  return most;
}

TEST(Schedule, BothWaysHalveWhatALinkCarries) {
  for (Index p = 2; p <= 17; ++p) {
    // Blocks of 8 p elements. V is the whole array over all ranks.
    const Index block = 8 * p;
    const Index v = block * p;
    const std::vector<Range> chunks = places(Counts(static_cast<std::size_t>(p), block));
    const Index gathered = p == 2 ? v / 2 : v * (p - 1) / (2 * p);
    const auto with = [&](auto schedule) {
      return [schedule, p](Index i) { return schedule(Algorithm::bidirectional, on_one_axis(p, i)); };
    };
    const auto gather = [&](Algorithm a, const Placement& at) { return all_gather_schedule(a, at, chunks); };
    const auto scatter = [&](Algorithm a, const Placement& at) { return reduce_scatter_schedule(a, at, chunks); };
    const auto reduce = [&](Algorithm a, const Placement& at) { return all_reduce_schedule(a, at, v); };
    EXPECT_EQ(busiest_link(p, with(gather), block, v), gathered) << p;
    EXPECT_EQ(busiest_link(p, with(scatter), v, block), gathered) << p;
    EXPECT_EQ(busiest_link(p, with(reduce), v, v), 2 * gathered) << p;

    // In an all_to_all the ranks share V: blocks of V / p^2 = 8 elements.
    const Index array = 8 * p * p;
    const std::vector<Range> blocks = places(Counts(static_cast<std::size_t>(p), 8));
    const auto exchange = [&](Algorithm a, const Placement& at) {
      return all_to_all_schedule(a, at, {blocks, blocks, [](Index, Index) { return Index{8}; }});
    };
    const Index exchanged = p == 2 ? array / 4 : p % 2 == 0 ? array / 8 : array / 8 - 1;  // V (1 - 1/p^2) / 8
    EXPECT_EQ(busiest_link(p, with(exchange), 8 * p, 8 * p), exchanged) << p;
    const auto one_way = [&](Index i) { return exchange(Algorithm::ring, on_one_axis(p, i)); };
    EXPECT_EQ(busiest_link(p, one_way, 8 * p, 8 * p), array * (p - 1) / (2 * p)) << p;
  }
}

TEST(Schedule, SeveralAxesLoadAllTheirLinksAlike) {
  // Elements on each link: V (p - 1) / p over the links that enter a rank. An axis longer than 2 has two links,
  // otherwise one.
  for (const Counts& sizes :
       {Counts{2, 2}, Counts{2, 3}, Counts{3, 2}, Counts{4, 4}, Counts{3, 5}, Counts{2, 2, 2}, Counts{4, 3, 2}}) {
    const Index p = Placement{sizes, 0}.positions();
    Index links = 0;
    for (const Index size : sizes) links += size > 2 ? 2 : 1;
    const Index block = 840 * links;
    const std::vector<Range> chunks = places(Counts(static_cast<std::size_t>(p), block));
    const auto least = static_cast<double>(block * (p - 1)) / static_cast<double>(links);
    const Index gathered = busiest_link(
        p,
        [&](Index i) {
          return all_gather_schedule(Algorithm::bidirectional, {sizes, i}, chunks);
        },
        block, block * p);
    EXPECT_NEAR(static_cast<double>(gathered), least, 0.005 * least) << to_string(sizes);
    const Index reduced = busiest_link(
        p,
        [&](Index i) {
          return reduce_scatter_schedule(Algorithm::bidirectional, {sizes, i}, chunks);
        },
        block * p, block);
    EXPECT_NEAR(static_cast<double>(reduced), least, 0.005 * least) << to_string(sizes);
  }
}

TEST(Schedule, DoublingTakesLogarithmicallyManySteps) {
  for (Index p = 2; p <= 17; ++p) {
    Index log = 0;
    while ((Index{1} << log) < p) ++log;
    const std::vector<Range> chunks = places(Counts(static_cast<std::size_t>(p), 2));
    const Placement at = on_one_axis(p, p / 2);
    const Exchange exchange{chunks, chunks, [](Index, Index) { return Index{2}; }};
    EXPECT_EQ(round_count(all_gather_schedule(Algorithm::doubling, at, chunks)), log) << p;
    EXPECT_EQ(round_count(reduce_scatter_schedule(Algorithm::doubling, at, chunks)), log) << p;
    EXPECT_EQ(round_count(all_to_all_schedule(Algorithm::doubling, at, exchange)), log) << p;
    EXPECT_LE(round_count(all_reduce_schedule(Algorithm::doubling, on_one_axis(p, 0), 2 * p)), log + 1) << p;
  }
}

TEST(Schedule, RefusesWhatThereIsNotByName) {
  const std::vector<Range> chunks{{0, 1}, {1, 2}};
  const Placement at = on_one_axis(2, 0);
  for (const Algorithm algorithm : {Algorithm::native, Algorithm::automatic, Algorithm::direct}) {
    EXPECT_THROW(all_gather_schedule(algorithm, at, chunks), UsageError);
    EXPECT_THROW(reduce_scatter_schedule(algorithm, at, chunks), UsageError);
    EXPECT_THROW(all_reduce_schedule(algorithm, at, 4), UsageError);
    EXPECT_THROW(all_to_all_schedule(algorithm, at, {chunks, chunks, {}}), UsageError);
  }
  try {
    shift_schedule(Algorithm::doubling, at, 4, 4, 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "shift has no algorithm doubling; it has ring, direct and native");
  }
}

}  // namespace
}  // namespace shardline::collectives
