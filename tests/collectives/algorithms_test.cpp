// Every collective by every algorithm on flat arrays: sizes near every switch of the algorithm, messages above
// the limit of a count, and sums with rounding.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "collectives/collectives.h"
#include "runtime/base/counter_rng.h"
#include "tests/collectives/direct_fixture.h"
#include "tests/runtime/message_limit.h"

namespace shardline::collectives {
namespace {

/// Memory for arrays of up to `most` elements of f32 in an arena, for every algorithm: an operand and a result
/// of each kind of collective.
struct Room {
  Room(Stage& stage, Index most)
      : operand(spoiled_in_arena(stage, DType::f32, {2 * most + world().size()})),
        result(spoiled_in_arena(stage, DType::f32, {5 * most})) {}

  /// The bytes that the arena needs.
  static Index bytes(Index most) { return 32 * most + 4096; }
  /// The next part of `memory`, of `shape`.
  static Tensor take(const Tensor& memory, Index& taken, const Shape& shape) {
    const Index begin = taken;
    taken += element_count(shape);
    return over(memory, begin, shape);
  }
  Tensor operand_of(const Tensor& values) {
    Tensor tensor = take(operand, operand_taken, values.shape());
    std::copy_n(values.view<float>().begin(), values.size(), tensor.view<float>().begin());
    return tensor;
  }
  Tensor result_of(const Shape& shape) {
    Tensor tensor = take(result, result_taken, shape);
    std::fill_n(tensor.view<float>().begin(), tensor.size(), -1234.5F);
    return tensor;
  }

  Tensor operand;
  Tensor result;
  Index operand_taken = 0;
  Index result_taken = 0;
};

/// All five collectives on arrays of `n` elements per rank, in flight together.
void check_together(Stage& stage, Room room, Index n, const Options& options) {
  const Index p = stage.positions();
  const Algorithm algorithm = options.algorithm;
  std::vector<Tensor> arrays;
  for (const Index rank : stage.group()) arrays.push_back(whole_numbers(DType::f32, {n}, fmt::format("of {}", rank)));
  const Tensor& mine = arrays[static_cast<std::size_t>(stage.position())];
  const Tensor sum = combine(ReduceOp::sum, arrays);
  const Range own = stage.block(n);
  const Tensor logical = whole_numbers(DType::f32, {n, p}, "exchanged");

  const Tensor in = room.operand_of(mine);
  const Tensor block = over(in, own.begin, {own.size()});
  const Tensor exchanged = room.operand_of(cut_tensor(logical, 0, own));
  Tensor gathered = room.result_of({n});
  Tensor scattered = room.result_of({own.size()});
  Tensor reduced = room.result_of({n});
  Tensor transposed = room.result_of({n, stage.block(p).size()});
  Tensor shifted = room.result_of({n});

  std::vector<Handle> handles;
  Engine& engine = stage.engine;
  handles.push_back(start_all_gather(engine, stage.axes, block, 0, gathered, options));
  handles.push_back(start_reduce_scatter(engine, stage.axes, ReduceOp::sum, in, 0, scattered, options));
  handles.push_back(start_all_reduce(engine, stage.axes, ReduceOp::sum, in, reduced, options));
  handles.push_back(start_all_to_all(engine, stage.axes, exchanged, 0, 1, transposed, options));
  const bool shifts =
      algorithm != Algorithm::bidirectional && algorithm != Algorithm::pairwise && algorithm != Algorithm::doubling;
  if (shifts) handles.push_back(start_shift(engine, stage.axes, in, 1, shifted, options));
  for (Handle& handle : handles) {
    handle.wait();
    const bool as_asked = algorithm == Algorithm::automatic || p == 1 || handle.algorithm() == algorithm;
    EXPECT_TRUE(as_asked) << name_of(handle.algorithm());
  }

  Tensor all(DType::f32, {n});
  for (Index position = 0; position < p; ++position) {
    const Range range = nested_block(n, stage.axes, stage.mesh.axes(),
                                     stage.mesh.axes().coordinates(stage.group()[static_cast<std::size_t>(position)]));
    all.assign({range}, cut_tensor(arrays[static_cast<std::size_t>(position)], 0, range));
  }
  EXPECT_TRUE(same_bits(gathered, all)) << "all_gather";
  EXPECT_TRUE(same_bits(scattered, cut_tensor(sum, 0, own))) << "reduce_scatter";
  EXPECT_TRUE(same_bits(reduced, sum)) << "all_reduce";
  EXPECT_TRUE(same_bits(transposed, cut_tensor(logical, 1, stage.block(p)))) << "all_to_all";
  const auto giver = static_cast<std::size_t>((stage.position() + p - 1) % p);
  EXPECT_TRUE(!shifts || same_bits(shifted, arrays[giver])) << "shift";
  EXPECT_TRUE(same_bits(in, mine)) << "the operand was written";
}

class EveryCollective : public testing::TestWithParam<Algorithm> {
 protected:
  /// Stages with an arena of `bytes`, unless the algorithm cannot work there.
  static void for_each_stage(Index bytes, const std::function<void(Stage&)>& check) {
    for_each_arena(bytes, [&](Stage& stage) {
      if (GetParam() == Algorithm::direct && !stage.mesh.group(stage.axes).one_node) return;
      check(stage);
    });
  }
};

/// Elements of f32 around `bytes`.
std::vector<Index> around(Index bytes) { return {bytes / 4 - 1, bytes / 4, bytes / 4 + 1}; }

TEST_P(EveryCollective, OfEverySizeFromNoneAndAroundEverySwitch) {
  constexpr Index kSmall = Index{16} << 10;         // of Tuning::built_in()
  constexpr Index kOnePassOfMore = Index{8} << 10;  // of direct all_reduce
  constexpr Index kOnePassOfTwo = Index{1} << 20;
  const Index most = (world().size() == 2 ? kOnePassOfTwo : kSmall) / 4 + 1;
  for_each_stage(Room::bytes(most), [&](Stage& stage) {
    const Room room(stage, most);
    std::vector<Index> sizes;
    for (Index n = 0; n <= 4 * stage.positions(); ++n) sizes.push_back(n);
    for (const Index bytes : {kSmall, kOnePassOfMore, kOnePassOfTwo}) {
      if (bytes / 4 >= most) continue;
      for (const Index n : around(bytes)) sizes.push_back(n);
    }
    for (const Index n : sizes) {
      SCOPED_TRACE(n);
      check_together(stage, room, n, {GetParam()});
      ASSERT_FALSE(HasFailure());
    }
  });
}

TEST_P(EveryCollective, OfMessagesAboveTheLimitOfACount) {
  const Index most = 50 * world().size() + 3;
  for_each_stage(Room::bytes(most), [&](Stage& stage) {
    const Room room(stage, most);
    // The limit replaces 2^31. Every segment exceeds it. The two ends of a message may have different limits.
    const ScopedMessageLimit limit(world().rank() % 2 == 0 ? 5 : 13);
    for (const Index segment_bytes : {Index{0}, Index{60}}) {
      check_together(stage, room, most, {GetParam(), segment_bytes});
      ASSERT_FALSE(HasFailure());
    }
  });
}

template <class T>
Tensor normal_numbers(DType dtype, Index size, const std::string& name) {
  const CounterRng rng(3, name);
  Tensor tensor(dtype, {size});
  for (Index i = 0; i < size; ++i) tensor.view<T>()[i] = static_cast<T>(static_cast<float>(rng.normal(i)));
  return tensor;
}

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data()), static_cast<std::size_t>(tensor.bytes())};
}

/// Sums of `n` elements with rounding: the same on all positions and in three runs with different orders of the
/// ranks.
template <class T>
void check_bits(Stage& stage, DType dtype, Index n, const Options& options) {
  SCOPED_TRACE(fmt::format("{} {}, wire {}", n, name_of(dtype), name_of(options.wire)));
  const std::string name = fmt::format("rounding {}", stage.mesh.rank());
  const Tensor in = in_arena(stage, normal_numbers<T>(dtype, n, name));
  Tensor sum = spoiled_in_arena(stage, dtype, {n});
  Tensor block = spoiled_in_arena(stage, dtype, {stage.block(n).size()});
  std::string first;
  for (Index run = 0; run < 3; ++run) {
    std::this_thread::sleep_for(std::chrono::microseconds(200 * ((stage.mesh.rank() + run) % 3)));
    Handle scatter = start_reduce_scatter(stage.engine, stage.axes, ReduceOp::avg, in, 0, block, options);
    all_reduce(stage.engine, stage.axes, ReduceOp::sum, in, sum, options);
    scatter.wait();
    const std::string bits = bytes_of(sum) + bytes_of(block);
    if (run == 0) first = bits;
    EXPECT_TRUE(bits == first) << "run " << run << " gives other bits than the first";
  }
  for (const std::string& bits : stage.mesh.group(stage.axes).comm->all_gather_bytes(bytes_of(sum))) {
    EXPECT_TRUE(bits == bytes_of(sum)) << "positions have other bits of an all_reduce";
  }
}

TEST_P(EveryCollective, GivesTheSameBitsEverywhereAndAgain) {
  if (GetParam() == Algorithm::native) GTEST_SKIP() << "native has an order of its own";
  const Index most = 5003;  // large enough for two passes of direct all_reduce
  for_each_stage(Index{1} << 20, [&](Stage& stage) {
    if (stage.positions() == 1) return;
    for (const Index n : {Index{103}, most}) {
      check_bits<float>(stage, DType::f32, n, {GetParam()});
      check_bits<BFloat16>(stage, DType::bf16, n, {GetParam()});
      if (GetParam() == Algorithm::pairwise || GetParam() == Algorithm::direct) continue;
      check_bits<BFloat16>(stage, DType::bf16, n, {.algorithm = GetParam(), .wire = Wire::hop});
    }
  });
}

INSTANTIATE_TEST_SUITE_P(By, EveryCollective, testing::ValuesIn(kAlgorithms),
                         [](const auto& of) { return std::string(name_of(of.param)); });

}  // namespace
}  // namespace shardline::collectives
