// The joint measurement of made-up spans, with clocks that are wrong by a known amount.
#include "program/run/measure.h"

#include <gtest/gtest.h>

#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

using mpi::Communicator;

/// Times that a double holds exactly.
class Measure : public testing::Test {
 protected:
  Measure() : world(Communicator::world()), rank(world.rank()), last(world.size() - 1) {}

  /// Records a span given in rank 0's time.
  void record(Trace& trace, int label, double begin, double end, double exposed = 0, int together = 1) const {
    trace.record({label, Seconds(begin - wrong()), Seconds(end - wrong()), Seconds(exposed), together});
  }
  /// A trace whose alignment knows the exact error of its clock.
  Trace aligned() const {
    Trace trace;
    trace.align({Seconds(0), Seconds(wrong()), Seconds(0)});
    return trace;
  }
  double wrong() const { return 4096.0 * rank; }

  Communicator world;
  int rank;
  int last;
};

TEST_F(Measure, CollectivesGoFromTheLastEntryToTheLastExit) {
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  Trace trace = aligned();
  const int gather = trace.describe({.name = "gather", .kind = "all_gather", .axes = {"X"}, .communicates = true});
  const int product = trace.describe({.name = "product", .kind = "einsum"});
  // The last rank to enter is not the last to leave, so no rank's own span is the answer.
  record(trace, gather, 1000 + rank, 1100 - 0.5 * rank, 2.0 * rank);
  record(trace, product, 1200, 1201 + rank);
  record(trace, gather, 1300, 1302, 1);
  const std::vector<Measured> measured = measure(trace, engine);
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[0].count, 2);
  EXPECT_DOUBLE_EQ(measured[0].total.value, (100.0 - last) + 2);
  EXPECT_DOUBLE_EQ(measured[0].median.value, ((100.0 - last) + 2) / 2);  // the mean of the two in the middle
  EXPECT_DOUBLE_EQ(measured[0].exposed.value, 2.0 * last + 1);
  EXPECT_EQ(measured[1].count, 1);
  EXPECT_DOUBLE_EQ(measured[1].total.value, 1.0 + last);
}

TEST_F(Measure, TheMedianIsTheMiddleRunAndNotTheMean) {
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  Trace trace = aligned();
  const int product = trace.describe({.name = "product", .kind = "einsum"});
  trace.describe({.name = "never run", .kind = "einsum"});
  record(trace, product, 1000, 1064);
  record(trace, product, 1100, 1102);
  record(trace, product, 1200, 1201, 0, 2);  // two operations as one: half of it each
  const std::vector<Measured> measured = measure(trace, engine);
  EXPECT_DOUBLE_EQ(measured[0].median.value, 2);
  EXPECT_DOUBLE_EQ(measured[1].median.value, 0);
}

TEST_F(Measure, ALateEntryMakesACollectiveShortAndNeverNegative) {
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  Trace trace = aligned();
  const int gather = trace.describe({.name = "gather", .kind = "all_gather", .axes = {"X"}, .communicates = true});
  record(trace, gather, rank == last ? 1500 : 1000, 1500.25);
  // The others left before the last rank came, as with wrong clocks.
  record(trace, gather, rank == last ? 1700 : 1600, rank == last ? 1700.125 : 1650);
  EXPECT_DOUBLE_EQ(measure(trace, engine)[0].total.value, 0.25 + 0.125);
}

TEST_F(Measure, EachGroupOfAnAxisCountsAlone) {
  if (world.size() != 4) GTEST_SKIP() << "needs 4 ranks";
  const Mesh mesh(AbstractMesh({{"X", 2}, {"Y", 2}}), world);
  collectives::Engine engine(mesh);
  Trace trace = aligned();
  const int gather = trace.describe({.name = "gather", .kind = "all_gather", .axes = {"Y"}, .communicates = true});
  // Ranks 0 and 1 end before 2 and 3 begin, and take 8. Ranks 2 and 3 take 4.
  record(trace, gather, rank < 2 ? 1000 : 2000, rank < 2 ? 1008 : 2004);
  EXPECT_DOUBLE_EQ(measure(trace, engine)[0].total.value, 8);
}

TEST_F(Measure, OperationsThatRanAsOneShareItsTime) {
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  collectives::Engine engine(mesh);
  Trace trace = aligned();
  std::vector<int> sums;
  for (const char* name : {"a", "b"}) {
    sums.push_back(trace.describe({.name = name, .kind = "all_reduce", .axes = {"X"}, .communicates = true}));
  }
  for (const int sum : sums) record(trace, sum, 1000 + rank, 1064 + rank, 8, 2);
  for (const Measured& each : measure(trace, engine)) {
    EXPECT_EQ(each.count, 1);
    EXPECT_DOUBLE_EQ(each.total.value, 32);
  }
  EXPECT_DOUBLE_EQ(measure_overlap(trace, engine).in_flight.value, 64);
}

}  // namespace
}  // namespace shardline
