#include "runtime/mesh/mesh.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace shardline {
namespace {

using mpi::Communicator;

/// Meshes with the number of ranks of the job.
std::vector<AbstractMesh> meshes_of(int ranks) {
  std::vector<AbstractMesh> meshes{AbstractMesh({{"X", ranks}}), AbstractMesh({{"X", 1}, {"data", ranks}, {"Z", 1}})};
  if (ranks == 4) meshes.push_back(AbstractMesh({{"X", 2}, {"Y", 2}}));
  if (ranks == 4) meshes.push_back(AbstractMesh({{"Y", 2}, {"X", 1}, {"A", 2}}));
  return meshes;
}

/// The world rank of every member, in the order of the group's positions.
std::vector<double> members(const Group& group, Index self) {
  const std::vector<double> by_rank = group.comm->all_gather(static_cast<double>(self));
  std::vector<double> by_position;
  for (const int rank : group.ranks) by_position.push_back(by_rank.at(static_cast<std::size_t>(rank)));
  return by_position;
}

TEST(Mesh, GroupsFollowTheAxesInEveryOrder) {
  const Communicator world = Communicator::world();
  for (const AbstractMesh& axes : meshes_of(world.size())) {
    const Mesh mesh(axes, world);
    EXPECT_EQ(mesh.rank(), world.rank());
    EXPECT_EQ(mesh.coordinates(), axes.coordinates(world.rank()));
    Axes order = axes.axes();
    std::sort(order.begin(), order.end());
    do {
      for (std::size_t count = 0; count <= order.size(); ++count) {
        const Axes some(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count));
        const Group group = mesh.group(some);
        const std::vector<Index> expected = axes.group(world.rank(), some);
        EXPECT_EQ(members(group, world.rank()), std::vector<double>(expected.begin(), expected.end()))
            << axes.to_string() << " over " << to_string(some);
        EXPECT_EQ(expected.at(static_cast<std::size_t>(group.position)), world.rank());
        EXPECT_EQ(group.ranks.at(static_cast<std::size_t>(group.position)), group.comm->rank());
        EXPECT_EQ(group.size(), axes.size(some));
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Mesh, AnyOrderOfTheSameAxesSharesOneCommunicator) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", 1}, {"Y", world.size()}}), world);
  EXPECT_EQ(mesh.group({"X", "Y"}).comm, mesh.group({"Y", "X"}).comm);
  EXPECT_NE(mesh.group({"X"}).comm, mesh.group({"Y"}).comm);
}

/// Binds this process to one core during its lifetime.
class OnCore {
 public:
  explicit OnCore(int core) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    kept_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~OnCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;
  bool kept() const { return kept_; }

 private:
  cpu_set_t before_{};
  bool kept_ = false;
};

TEST(Mesh, IsCrowdedWhereRanksShareCores) {
  const Communicator world = Communicator::world();
  if (world.split_by_node().size() < world.size()) GTEST_SKIP() << "needs one node";
  const AbstractMesh axes({{"X", world.size()}});
  {
    const OnCore same(0);
    if (world.min(same.kept() ? 1 : 0) == 0) GTEST_SKIP() << "core 0 is not to be had";
    EXPECT_EQ(Mesh(axes, world).crowded(), world.size() > 1);
  }
  const OnCore own(world.rank());
  if (world.min(own.kept() ? 1 : 0) == 0) GTEST_SKIP() << "there is no core for each rank";
  EXPECT_FALSE(Mesh(axes, world).crowded());
}

TEST(Mesh, ProductOfTheAxesIsTheNumberOfRanks) {
  const Communicator world = Communicator::world();
  try {
    const Mesh mesh(AbstractMesh({{"X", 3}, {"Y", 7}}), world);
    FAIL() << "a mesh of 21 ranks was made";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), "mesh {X:3, Y:7} has 21 ranks, this job runs " + std::to_string(world.size()) +
                                ": the product of the sizes must match");
  }
}

TEST(Mesh, RefusesAxesThatAreNotThereOrRepeat) {
  const Communicator world = Communicator::world();
  const Mesh mesh(AbstractMesh({{"X", world.size()}}), world);
  EXPECT_THROW(mesh.group({"Y"}), UsageError);
  EXPECT_THROW(mesh.group({"X", "X"}), UsageError);
}

TEST(Mesh, HalfOfTheRanksMakeOne) {
  const Communicator world = Communicator::world();
  const int half = (world.size() + 1) / 2;
  if (world.rank() >= half) return;
  std::vector<int> members(static_cast<std::size_t>(half));
  for (int r = 0; r < half; ++r) members[static_cast<std::size_t>(r)] = r;
  const Communicator some = world.subgroup(members);
  const Mesh mesh(AbstractMesh({{"X", half}}), some);
  EXPECT_EQ(mesh.group({"X"}).comm->sum(1.0), half);
}

TEST(Mesh, TwoOverTheSameRanksDoNotMixTheirMessages) {
  const Communicator world = Communicator::world();
  const AbstractMesh axes({{"X", world.size()}});
  const Mesh first(axes, world);
  const Mesh second(axes, world);
  const MPI_Comm one = first.group({"X"}).comm->get();
  const MPI_Comm two = second.group({"X"}).comm->get();
  const int to = (world.rank() + 1) % world.size();
  const int from = (world.rank() + world.size() - 1) % world.size();
  const int sent[2] = {world.rank(), 1000 + world.rank()};
  int received[2] = {-1, -1};
  MPI_Request requests[4];
  MPI_Isend(&sent[0], 1, MPI_INT, to, 0, one, &requests[0]);
  MPI_Isend(&sent[1], 1, MPI_INT, to, 0, two, &requests[1]);
  MPI_Irecv(&received[1], 1, MPI_INT, from, 0, two, &requests[2]);
  MPI_Irecv(&received[0], 1, MPI_INT, from, 0, one, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  EXPECT_EQ(received[0], from);
  EXPECT_EQ(received[1], 1000 + from);
}

int count_deletion(MPI_Comm, int, void*, void* counter) {
  ++*static_cast<int*>(counter);
  return MPI_SUCCESS;
}

TEST(Mesh, FreesItsCommunicators) {
  const Communicator world = Communicator::world();
  int freed = 0;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deletion, &key, &freed);
  {
    const Mesh mesh(AbstractMesh({{"X", 1}, {"Y", world.size()}}), world);
    for (const MPI_Comm comm : {mesh.comm().get(), mesh.group({"X"}).comm->get(), mesh.group({"X", "Y"}).comm->get()}) {
      MPI_Comm_set_attr(comm, key, nullptr);
    }
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 3);
  MPI_Comm_free_keyval(&key);
}

TEST(Mesh, ManyAreMadeAndDestroyed) {
  const Communicator world = Communicator::world();
  const AbstractMesh axes({{"X", 1}, {"Y", world.size()}});
  // With more ranks than cores, making a communicator takes time slices. One rank tests the limit of
  // communicators as well as many.
  const int meshes = world.size() == 1 ? 5000 : 30;
  for (int i = 0; i < meshes; ++i) {
    const Mesh mesh(axes, world);
    ASSERT_EQ(mesh.group({"Y"}).size(), world.size());
    ASSERT_EQ(mesh.group({"X"}).size(), 1);
  }
}

}  // namespace
}  // namespace shardline
