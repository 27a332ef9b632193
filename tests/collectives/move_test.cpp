// Moves between two positions of an axis, with exact integers: every pair of positions, empty arrays, arrays of many
// segments, several on their way at once and received in another order.

#include "collectives/move.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

class Move : public testing::Test {
 protected:
  Move() { mesh_.moving_group({"Z"}); }

  static Index ranks() { return mpi::Communicator::world().size(); }

  static Tensor filled(Index size, std::int32_t first) {
    Tensor tensor(DType::i32, {size});
    for (Index i = 0; i < size; ++i) tensor.view<std::int32_t>()[i] = first + static_cast<std::int32_t>(i);
    return tensor;
  }

  static void expect_filled(const Tensor& tensor, std::int32_t first) {
    for (Index i = 0; i < tensor.size(); ++i) {
      ASSERT_EQ(tensor.view<std::int32_t>()[i], first + static_cast<std::int32_t>(i)) << i;
    }
  }

  Mesh mesh_{AbstractMesh({{"Z", ranks()}}), mpi::Communicator::world()};
  Engine engine_{mesh_};
};

TEST_F(Move, FromEveryPositionToEveryOther) {
  const auto me = static_cast<std::int32_t>(mesh_.rank());
  for (Index from = 0; from < ranks(); ++from) {
    for (Index to = 0; to < ranks(); ++to) {
      for (const Index size : {Index{0}, Index{1}, Index{7}, Index{1000000}}) {
        if (from == to) continue;
        const auto first = static_cast<std::int32_t>(100 * from + to);
        if (me == from) start_send(engine_, "Z", filled(size, first), {to, 3}).wait();
        if (me != to) continue;
        Tensor array = filled(size, -1);
        start_receive(engine_, "Z", array, {from, 3}).wait();
        expect_filled(array, first);
      }
    }
  }
}

/// Numbers tell moves apart: the receiver waits for the last one first.
TEST_F(Move, SeveralOnTheirWayAreToldApartByNumber) {
  if (ranks() < 2) GTEST_SKIP() << "2 ranks at least";
  constexpr int kMoves = 5;
  constexpr Index kSize = 300000;
  std::vector<Tensor> arrays;
  std::vector<Handle> handles;
  for (int i = 0; i < kMoves; ++i) arrays.push_back(filled(kSize, mesh_.rank() == 0 ? 1000 * i : -1));
  for (int i = 0; i < kMoves; ++i) {
    const int number = mesh_.rank() == 0 ? i : kMoves - 1 - i;
    const auto at = static_cast<std::size_t>(number);
    if (mesh_.rank() == 0) handles.push_back(start_send(engine_, "Z", arrays[at], {1, number}));
    if (mesh_.rank() == 1) handles.push_back(start_receive(engine_, "Z", arrays[at], {0, number}));
  }
  for (Handle& handle : handles) handle.wait();
  if (mesh_.rank() != 1) return;
  for (int i = 0; i < kMoves; ++i) expect_filled(arrays[static_cast<std::size_t>(i)], 1000 * i);
}

/// MPI promises tags up to 32767; larger numbers wrap. Of moves whose numbers then are equal, the first started arrives
/// first.
TEST_F(Move, NumbersMayBeLargerThanTags) {
  if (ranks() < 2) GTEST_SKIP() << "2 ranks at least";
  constexpr int kTags = 32767;
  constexpr Index kSize = 200000;  // several segments
  const std::vector<int> numbers{5, 5 + kTags, 5 + 2 * kTags, 2147483647, kTags - 1, kTags};
  std::vector<Tensor> arrays;
  std::vector<Handle> handles;
  for (const int number : numbers) arrays.push_back(filled(kSize, mesh_.rank() == 0 ? number / 2 : -1));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (mesh_.rank() == 0) handles.push_back(start_send(engine_, "Z", arrays[i], {1, numbers[i]}));
    if (mesh_.rank() == 1) handles.push_back(start_receive(engine_, "Z", arrays[i], {0, numbers[i]}));
  }
  for (Handle& handle : handles) handle.wait();
  if (mesh_.rank() != 1) return;
  for (std::size_t i = 0; i < numbers.size(); ++i) expect_filled(arrays[i], numbers[i] / 2);
}

TEST_F(Move, RefusesWhoIsNoPeer) {
  const Tensor array = filled(4, 0);
  EXPECT_THROW(start_send(engine_, "Z", array, {mesh_.rank(), 0}), UsageError);
  EXPECT_THROW(start_send(engine_, "Z", array, {ranks(), 0}), UsageError);
  EXPECT_THROW(start_send(engine_, "Z", array, {-1, 0}), UsageError);
  EXPECT_THROW(start_send(engine_, "Y", array, {0, 0}), UsageError);
}

}  // namespace
}  // namespace shardline::collectives
