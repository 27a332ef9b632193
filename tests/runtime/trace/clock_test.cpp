// Clocks that are wrong by a known amount. The error of the comparison is within its stated uncertainty.
#include "runtime/trace/clock.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/mesh/mesh.h"
#include "runtime/trace/trace.h"

namespace shardline {
namespace {

using mpi::Communicator;

/// Every rank has its own clock.
std::vector<int> own_clocks(int ranks) {
  std::vector<int> clocks(static_cast<std::size_t>(ranks));
  std::iota(clocks.begin(), clocks.end(), 0);
  return clocks;
}

/// A clock made from now(), which the ranks of this test share on one machine. The clock of rank 0 is right.
struct WrongClock {
  double offset = 0;
  double rate = 1;  ///< seconds that it counts per second

  explicit WrongClock(int rank, double drift = 0) : offset(1000.25 * rank), rate(1 + drift * rank) {}
  Seconds at(Seconds time) const { return Seconds(offset + rate * time.value); }
  Seconds operator()() const { return at(now()); }
};

/// The rounding of such times in doubles.
constexpr double kRounding = 1e-8;

TEST(Clock, OffsetsAreFoundWithinTheUncertainty) {
  const Communicator world = Communicator::world();
  const WrongClock clock(world.rank());
  const ClockReading reading = compare_clocks(world, own_clocks(world.size()), clock);
  EXPECT_NEAR(reading.behind.value, -clock.offset, reading.uncertainty.value + kRounding);
  EXPECT_LE(reading.at, clock());
  EXPECT_LT(reading.uncertainty, Seconds(10));
  if (world.rank() == 0) {
    EXPECT_EQ(reading.behind, Seconds(0));
    EXPECT_EQ(reading.uncertainty, Seconds(0));
  } else {
    EXPECT_GT(reading.uncertainty, Seconds(0)) << "a round trip takes time";
  }
}

TEST(Clock, DriftIsInterpolated) {
  const Communicator world = Communicator::world();
  const WrongClock clock(world.rank(), 1e-2);
  ClockAlignment alignment;
  alignment.add(compare_clocks(world, own_clocks(world.size()), clock));
  std::vector<Seconds> moments;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    moments.push_back(now());
  }
  alignment.add(compare_clocks(world, own_clocks(world.size()), clock));
  // A clock that is too fast by a hundredth also measures a round trip wrong by this share.
  const double allowed = 1.1 * alignment.uncertainty().value + kRounding;
  for (const Seconds moment : moments) {
    EXPECT_NEAR(alignment.common(clock.at(moment)).value, moment.value, allowed) << "rank " << world.rank();
  }
}

TEST(Clock, RanksThatShareOneAreAskedOnce) {
  const Communicator world = Communicator::world();
  std::vector<int> clocks;
  for (int rank = 0; rank < world.size(); ++rank) clocks.push_back(rank / 2 * 2);
  const WrongClock clock(world.rank() / 2 * 2);
  const ClockReading reading = compare_clocks(world, clocks, clock);
  const std::vector<double> behind = world.all_gather(reading.behind.value);
  EXPECT_EQ(reading.behind.value, behind.at(static_cast<std::size_t>(world.rank() / 2 * 2)));
  EXPECT_NEAR(reading.behind.value, -clock.offset, reading.uncertainty.value + kRounding);
  if (world.rank() < 2) {
    EXPECT_EQ(reading.behind, Seconds(0));
  }
}

TEST(Clock, RanksOfANodeReadTheSameClockAndOtherNodesAreAsked) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  const ClockReading reading = compare_clocks(mesh);
  if (mesh.nodes().at(static_cast<std::size_t>(mesh.rank())) == 0) {
    EXPECT_EQ(reading.behind, Seconds(0));
    EXPECT_EQ(reading.uncertainty, Seconds(0));
  } else {
    EXPECT_GT(reading.uncertainty, Seconds(0));
  }
  EXPECT_NEAR(reading.behind.value, 0, reading.uncertainty.value + kRounding) << "hosts of a lab share a clock";
  EXPECT_LE(reading.at, now());
}

TEST(Clock, ClocksOfRanksThatAreNotThereAreRefused) {
  const Communicator world = Communicator::world();
  EXPECT_THROW(compare_clocks(world, std::vector<int>(static_cast<std::size_t>(world.size()) + 1, 0)), Error);
  EXPECT_THROW(compare_clocks(world, std::vector<int>(static_cast<std::size_t>(world.size()), -1)), Error);
}

TEST(ClockAlignment, IsThatOfTheNearestReadingsAndKeepsTheOrder) {
  ClockAlignment alignment;
  EXPECT_EQ(alignment.common(Seconds(7)), Seconds(7));
  EXPECT_EQ(alignment.uncertainty(), Seconds(0));
  alignment.add({Seconds(10), Seconds(100), Seconds(0.25)});
  EXPECT_EQ(alignment.common(Seconds(0)), Seconds(100));
  EXPECT_EQ(alignment.common(Seconds(30)), Seconds(130));
  alignment.add({Seconds(20), Seconds(104), Seconds(0.5)});
  alignment.add({Seconds(28), Seconds(100), Seconds(0.125)});
  EXPECT_EQ(alignment.common(Seconds(0)), Seconds(100));
  EXPECT_EQ(alignment.common(Seconds(10)), Seconds(110));
  EXPECT_EQ(alignment.common(Seconds(15)), Seconds(117));
  EXPECT_EQ(alignment.common(Seconds(20)), Seconds(124));
  EXPECT_EQ(alignment.common(Seconds(24)), Seconds(126));
  EXPECT_EQ(alignment.common(Seconds(40)), Seconds(140));
  EXPECT_EQ(alignment.uncertainty(), Seconds(0.5));
  EXPECT_THROW(alignment.add({Seconds(27), Seconds(0), Seconds(0)}), Error);
}

TEST(Trace, KeepsSpansInOrderUnderTheirLabels) {
  Trace trace;
  const int product = trace.describe({.name = "first", .kind = "einsum", .flops = Flops(8)});
  const int gather = trace.describe({.name = "second", .kind = "all_gather", .axes = {"X"}});
  const Seconds begin = now();
  trace.record({.label = gather, .begin = begin, .end = now()});
  trace.record({.label = product, .begin = now(), .end = now()});
  ASSERT_EQ(trace.spans().size(), 2U);
  EXPECT_EQ(trace.labels().at(static_cast<std::size_t>(trace.spans()[0].label)).axes, Axes{"X"});
  EXPECT_LE(trace.spans()[0].begin, trace.spans()[0].end);
  EXPECT_LE(trace.spans()[0].end, trace.spans()[1].begin);
  trace.clear_spans();
  EXPECT_TRUE(trace.spans().empty());
  EXPECT_EQ(trace.labels().size(), 2U);
}

TEST(Trace, ForgetsTheOldestSpansAndAddsTheWaitsOfTheLastRun) {
  Trace trace;
  trace.describe({.name = "first"});
  trace.describe({.name = "second"});
  EXPECT_EQ(trace.waited_in_last_run(), Seconds(0));
  for (int i = 0; i < 6; ++i) trace.record({.label = i % 2, .exposed = Seconds(1 << i)});
  EXPECT_EQ(trace.waited_in_last_run(), Seconds(16 + 32));
  trace.keep_last(4);
  ASSERT_EQ(trace.spans().size(), 4U);
  EXPECT_EQ(trace.spans().front().exposed, Seconds(4));
  EXPECT_EQ(trace.spans().back().exposed, Seconds(32));
  trace.keep_last(9);
  EXPECT_EQ(trace.spans().size(), 4U);
}

}  // namespace
}  // namespace shardline
