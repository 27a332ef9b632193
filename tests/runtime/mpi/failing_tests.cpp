// Tests that fail on purpose on one rank. failure_test.sh checks how tests/mpi_main.cpp reports them.

#include <gtest/gtest.h>

#include <stdexcept>

#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

using mpi::Communicator;

TEST(Failing, OnOneRank) {
  const Communicator world = Communicator::world();
  EXPECT_NE(world.rank(), world.size() - 1) << "first line\nsecond line";
}

TEST(Failing, ThrowsBeforeACollective) {
  const Communicator world = Communicator::world();
  if (world.rank() == world.size() - 1) throw std::runtime_error("the disk is on fire");
  world.barrier();
}

TEST(Passing, OnAllRanks) { Communicator::world().barrier(); }

}  // namespace
}  // namespace shardline
