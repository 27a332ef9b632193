#include "program/run/stage_ranks.h"

#include <gtest/gtest.h>

#include <map>

#include "runtime/base/check.h"
#include "runtime/mpi/communicator.h"

namespace shardline {
namespace {

/// The ranks of the job that a mesh has, in its order. Collective over the mesh.
std::vector<int> members(const Mesh& mesh, int world_rank) {
  std::vector<int> all;
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    all.push_back(std::stoi(mesh.comm().broadcast(std::to_string(world_rank), rank)));
  }
  return all;
}

struct Wanted {
  std::vector<int> within;  ///< the ranks of the stage
  std::vector<int> across;  ///< those of the same place on all stages
};

/// Four ranks, by hand: row-major, so the last axis counts first.
const std::map<std::string, std::vector<Wanted>>& wanted_by_mesh() {
  static const std::map<std::string, std::vector<Wanted>> kWanted{
      {"Z=2,X=2", {{{0, 1}, {0, 2}}, {{0, 1}, {1, 3}}, {{2, 3}, {0, 2}}, {{2, 3}, {1, 3}}}},
      {"X=2,Z=2", {{{0, 2}, {0, 1}}, {{1, 3}, {0, 1}}, {{0, 2}, {2, 3}}, {{1, 3}, {2, 3}}}},
      {"Z=4", {{{0}, {0, 1, 2, 3}}, {{1}, {0, 1, 2, 3}}, {{2}, {0, 1, 2, 3}}, {{3}, {0, 1, 2, 3}}}}};
  return kWanted;
}

TEST(StageRanks, AreThoseOfAStageAndThoseInOnePlace) {
  const mpi::Communicator world = mpi::Communicator::world();
  for (const auto& [text, by_rank] : wanted_by_mesh()) {
    SCOPED_TRACE(text);
    const Mesh mesh(AbstractMesh::parse(text), world);
    const collectives::Engine all(mesh);
    StageRanks ranks(all, "Z");
    const Wanted& wanted = by_rank[static_cast<std::size_t>(world.rank())];
    EXPECT_EQ(members(ranks.engine().mesh(), world.rank()), wanted.within);
    EXPECT_EQ(members(ranks.moves().mesh(), world.rank()), wanted.across);
    EXPECT_EQ(ranks.engine().mesh().axes(), mesh.axes().without("Z"));
    EXPECT_EQ(ranks.stages(), static_cast<int>(wanted.across.size()));
    EXPECT_EQ(wanted.across[static_cast<std::size_t>(ranks.stage())], world.rank());
  }
}

TEST(StageRanks, HaveTheTuningAndTheTimeoutOfTheJob) {
  const Mesh mesh(AbstractMesh::parse("Z=2,X=2"), mpi::Communicator::world());
  collectives::Engine all(mesh);
  collectives::Tuning tuning = collectives::Tuning::built_in();
  tuning.node_segment_bytes = 12345;
  all.set_tuning(tuning);
  all.set_timeout(Seconds(77));
  StageRanks ranks(all, "Z");
  for (const collectives::Engine* engine : {&ranks.engine(), &ranks.moves()}) {
    EXPECT_EQ(engine->tuning(), tuning);
    EXPECT_EQ(engine->timeout(), Seconds(77));
  }
  ranks.set_timeout(Seconds(78));
  EXPECT_EQ(ranks.engine().timeout(), Seconds(78));
  EXPECT_EQ(ranks.moves().timeout(), Seconds(78));
}

TEST(StageRanks, RefuseAnAxisThatIsNotThere) {
  const Mesh mesh(AbstractMesh::parse("Z=2,X=2"), mpi::Communicator::world());
  const collectives::Engine all(mesh);
  EXPECT_THROW(StageRanks(all, "Y"), UsageError);
}

}  // namespace
}  // namespace shardline
