#include "runtime/mpi/communicator.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/base/check.h"
#include "runtime/base/result_error.h"
#include "runtime/mpi/datatype.h"
#include "runtime/mpi/environment.h"
#include "runtime/mpi/error.h"
#include "tests/runtime/message_limit.h"

namespace shardline {
namespace {

using mpi::Communicator;

TEST(Communicator, KnowsItsRanksAndIsNotTheWorldItself) {
  const Communicator comm = Communicator::world();
  int rank = -1;
  int size = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  EXPECT_EQ(comm.rank(), rank);
  EXPECT_EQ(comm.size(), size);
  EXPECT_NE(comm.get(), MPI_COMM_WORLD);
}

TEST(Communicator, MovingLeavesNothingBehind) {
  Communicator first = Communicator::world();
  const MPI_Comm handle = first.get();
  Communicator second = std::move(first);
  EXPECT_EQ(second.get(), handle);
  Communicator third = Communicator::world();
  third = std::move(second);
  EXPECT_EQ(third.get(), handle);
  third.barrier();
}

TEST(Communicator, SplitsByColourInTheOrderOfTheKeys) {
  const Communicator world = Communicator::world();
  const Communicator half = world.split(world.rank() % 2, -world.rank());
  const int members = (world.size() + 1 - world.rank() % 2) / 2;
  EXPECT_EQ(half.size(), members);
  EXPECT_EQ(half.rank(), members - 1 - world.rank() / 2);
  const std::vector<double> ranks = half.all_gather(world.rank());
  for (int i = 0; i + 1 < members; ++i) EXPECT_GT(ranks[i], ranks[i + 1]);
}

TEST(Communicator, RanksOfOneMachineShareANode) {
  const Communicator world = Communicator::world();
  EXPECT_EQ(world.split_by_node().size(), world.size());
}

TEST(Communicator, SubgroupIsMadeByItsOwnRanksOnly) {
  const Communicator world = Communicator::world();
  // The last rank comes first. Rank 0 is no member if there are other ranks.
  std::vector<int> members;
  for (int r = world.size() - 1; r >= (world.size() > 1 ? 1 : 0); --r) members.push_back(r);
  if (world.size() > 1 && world.rank() == 0) return;
  const Communicator some = world.subgroup(members);
  EXPECT_EQ(some.size(), static_cast<int>(members.size()));
  EXPECT_EQ(some.rank(), world.size() - 1 - world.rank());
  EXPECT_EQ(some.all_gather(world.rank()), std::vector<double>(members.begin(), members.end()));
}

TEST(Communicator, RefusesASubgroupOfRanksThatAreNotThere) {
  const Communicator world = Communicator::world();
  EXPECT_THROW(world.subgroup({world.rank(), world.rank()}), Error);
  EXPECT_THROW(world.subgroup({world.rank(), world.size()}), Error);
  EXPECT_THROW(world.subgroup({}), Error);
  if (world.size() > 1) {
    EXPECT_THROW(world.subgroup({(world.rank() + 1) % world.size()}), Error);
  }
}

TEST(Communicator, TagsFollowEachOtherOnEachCommunicatorApart) {
  const Communicator first = Communicator::world();
  const Communicator second = Communicator::world();
  const int start = first.next_tag();
  EXPECT_EQ(first.next_tag(), start + 1);
  EXPECT_EQ(second.next_tag(), start);
  EXPECT_EQ(first.next_tag(), start + 2);
}

TEST(Communicator, BroadcastBringsAnyNumberOfBytes) {
  const Communicator comm = Communicator::world();
  const ScopedMessageLimit limit(7);
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::size_t size : {0U, 1U, 6U, 7U, 8U, 14U, 100U}) {
      std::string bytes;
      for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(i * 31 + static_cast<std::size_t>(root));
      EXPECT_EQ(comm.broadcast(comm.rank() == root ? bytes : "ignored", root), bytes);
    }
  }
}

TEST(Communicator, GathersBytesOfUnequalNumber) {
  const Communicator comm = Communicator::world();
  const std::vector<std::string> all = comm.all_gather_bytes(std::string(static_cast<std::size_t>(comm.rank()), 'x'));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(comm.size()));
  for (std::size_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], std::string(r, 'x'));
}

TEST(Communicator, ReducesSingleValues) {
  const Communicator comm = Communicator::world();
  const double n = comm.size();
  EXPECT_EQ(comm.sum(comm.rank() + 1.0), n * (n + 1) / 2);
  EXPECT_EQ(comm.max(-comm.rank()), 0.0);
  EXPECT_EQ(comm.min(-comm.rank()), 1 - n);
}

TEST(OnRoot, GivesTheResultToEveryRank) {
  const Communicator comm = Communicator::world();
  const int root = comm.size() - 1;
  int calls = 0;
  const std::string result = mpi::on_root(comm, root, [&] {
    ++calls;
    return std::string("read by ") + std::to_string(comm.rank());
  });
  EXPECT_EQ(result, "read by " + std::to_string(root));
  EXPECT_EQ(calls, comm.rank() == root ? 1 : 0);
}

TEST(OnRoot, EveryRankThrowsWhatTheRootThrew) {
  const Communicator comm = Communicator::world();
  const auto message_of = [&](const std::function<std::string()>& body) {
    try {
      mpi::on_root(comm, 0, body);
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    } catch (const ResultError& error) {
      return std::string("result: ") + error.what();
    } catch (const Error& error) {
      return std::string("error: ") + error.what();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(message_of([]() -> std::string { throw UsageError("no such file"); }), "usage: no such file");
  EXPECT_EQ(message_of([]() -> std::string { throw ResultError("it holds NaN"); }), "result: it holds NaN");
  EXPECT_EQ(message_of([]() -> std::string { throw Error("disk"); }), "error: disk");
  EXPECT_EQ(message_of([]() -> std::string { throw std::runtime_error("other"); }), "error: other");
}

TEST(OnAll, EveryRankThrowsWhatTheFirstThrew) {
  const Communicator comm = Communicator::world();
  int calls = 0;
  EXPECT_NO_THROW(mpi::on_all(comm, [&] { ++calls; }));
  EXPECT_EQ(calls, 1);
  for (int first = 0; first < comm.size(); ++first) {
    try {
      mpi::on_all(comm, [&] {
        if (comm.rank() == first) throw ResultError("full disk of rank " + std::to_string(first));
        if (comm.rank() > first) throw UsageError("another fault");
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ResultError& error) {
      EXPECT_EQ(error.what(), "full disk of rank " + std::to_string(first));
    }
  }
}

TEST(MpiError, NamesTheCallThePlaceAndTheRank) {
  const Communicator comm = Communicator::world();
  int value = 0;
  try {
    SHARDLINE_MPI(MPI_Send(&value, 1, MPI_INT, comm.size() + 5, 0, comm.get()));
    FAIL() << "a message to a rank that is not there was sent";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("MPI_Send(&value, 1"), std::string::npos) << message;
    EXPECT_NE(message.find("failed on rank " + std::to_string(comm.rank())), std::string::npos) << message;
    EXPECT_NE(message.find("communicator_test.cpp:"), std::string::npos) << message;
    EXPECT_NE(message.find("rank"), std::string::npos) << message;
  }
}

TEST(Environment, NamesTheLibraryOnOneLine) {
  const std::string version = mpi::library_version();
  EXPECT_FALSE(version.empty());
  EXPECT_EQ(version.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace shardline
