// The memory that ranks of a node share: its limit, its tensors and the return of memory.

#include "collectives/shared/arena.h"

#include <gtest/gtest.h>

#include "runtime/base/check.h"
#include "tests/collectives/direct_fixture.h"

namespace shardline::collectives {
namespace {

class ArenaTest : public testing::Test {
 protected:
  Mesh mesh_{AbstractMesh({{"X", world().size()}}), world()};

  /// Byte offset of a tensor in this rank's part.
  Index place(const Arena& arena, const Tensor& tensor) const { return tensor.data() - arena.part(mesh_.rank()); }
  bool alike(Index value) const {
    return world().max(static_cast<double>(value)) == world().min(static_cast<double>(value));
  }
};

TEST_F(ArenaTest, UnevenAndEmptyBlocksLieAtTheSamePlaceOnEveryRank) {
  Arena arena(mesh_, 1 << 16);
  std::vector<Tensor> tensors;
  for (const Index extra : {0, 7, 100}) {
    tensors.push_back(arena.allocate(DType::f64, {mesh_.rank() * extra, 3}));
    const Tensor& tensor = tensors.back();
    EXPECT_TRUE(arena.contains(tensor));
    EXPECT_TRUE(alike(place(arena, tensor)));
    EXPECT_EQ(place(arena, tensor) % 64, 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U);
  }
  EXPECT_LT(tensors[1].data() + tensors[1].bytes(), tensors[2].data() + 1);
  EXPECT_FALSE(arena.contains(Tensor(DType::f32, {4})));
  EXPECT_FALSE(arena.contains(Tensor()));
}

TEST_F(ArenaTest, OfNothingStillHasAPlaceForAnEmptyTensor) {
  Arena arena(mesh_, 0);
  const Tensor nothing = arena.allocate(DType::f32, {0, 5});
  EXPECT_TRUE(arena.contains(nothing));
}

TEST_F(ArenaTest, RanksReadEachOthersTensors) {
  Arena arena(mesh_, 1 << 16);
  Tensor own = arena.allocate(DType::i64, {1});
  own.view<std::int64_t>()[0] = 100 + mesh_.rank();
  world().barrier();
  for (Index rank = 0; rank < mesh_.ranks(); ++rank) {
    ASSERT_NE(arena.part(rank), nullptr);
    EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(arena.part(rank) + place(arena, own)), 100 + rank);
  }
  world().barrier();
}

TEST_F(ArenaTest, SaysWhatIsTakenWhenItIsFull) {
  Arena arena(mesh_, 1000 * 64);
  Tensor most = arena.allocate(DType::f32, {900 * 16});
  EXPECT_EQ(arena.taken(), 900 * 64);
  // If one rank asks for too much, all ranks throw.
  const Index last = mesh_.ranks() - 1;
  const Shape too_much{mesh_.rank() == last ? 101 * 16 : 1};
  EXPECT_FALSE(arena.try_allocate(DType::f32, too_much).has_value());
  EXPECT_THROW(arena.allocate(DType::f32, too_much), UsageError);
  expect_refused([&] { arena.allocate(DType::f32, too_much); },
                 {"no room for tensors of 6.46 kB", "64.0 kB", "57.6 kB are taken", "6.40 kB"});
  EXPECT_TRUE(arena.try_allocate(DType::f32, {100 * 16}).has_value());
}

TEST_F(ArenaTest, MemoryComesBackWhenEveryRankHasLetGo) {
  Arena arena(mesh_, 1 << 16);
  Tensor first = arena.allocate(DType::f32, {100});
  const Index begin = place(arena, first);
  Tensor copy = first;
  first = Tensor();
  if (mesh_.rank() != 0) copy = Tensor();  // rank 0 keeps it
  Tensor second = arena.allocate(DType::f32, {100});
  EXPECT_GT(place(arena, second), begin);
  EXPECT_TRUE(alike(place(arena, second)));
  copy = Tensor();
  const Tensor larger = arena.allocate(DType::f32, {200});
  EXPECT_GT(place(arena, larger), place(arena, second)) << "it was put in a gap that is too small";
  const Tensor third = arena.allocate(DType::f32, {50});
  EXPECT_EQ(place(arena, third), begin);
}

TEST_F(ArenaTest, OftenTakenAndReturned) {
  Arena arena(mesh_, 4096);
  const int rounds = mesh_.ranks() <= 2 ? 500 : 100;
  for (int round = 0; round < rounds; ++round) {
    const Tensor one = arena.allocate(DType::f32, {256});
    const Tensor other = arena.allocate(DType::f32, {round % 3 * 256});
  }
}

TEST_F(ArenaTest, TooLargeForTheSharedMemoryOfTheNodeIsRefused) {
  const auto make = [this] { const Arena arena(mesh_, Index{1} << 50); };
  EXPECT_THROW(make(), UsageError);
  expect_refused(make, {"do not fit", "at most half", "free"});
  if (mesh_.ranks() > 1) {
    expect_refused([this] { const Arena arena(mesh_, mesh_.rank() == 0 ? 1 << 20 : 1 << 13); },
                   {"on one rank", "another"});
  }
}

TEST_F(ArenaTest, ManyOneAfterTheOther) {
  const int arenas = mesh_.ranks() <= 2 ? 30 : 10;
  for (int k = 0; k < arenas; ++k) {
    Arena arena(mesh_, 4096);
    arena.allocate(DType::f32, {10});
  }
}

TEST_F(ArenaTest, OutlivedByATensorStaysMapped) {
  testing::internal::CaptureStderr();
  std::optional<Tensor> tensor;
  {
    Arena arena(mesh_, 4096);
    tensor = arena.allocate(DType::i32, {1});
    if (mesh_.rank() != 0) tensor.reset();
  }
  if (tensor) tensor->view<std::int32_t>()[0] = 3;
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("an arena was destroyed before 1 of its tensors") != std::string::npos, mesh_.rank() == 0)
      << said;
}

}  // namespace
}  // namespace shardline::collectives
