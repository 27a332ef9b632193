// The results of algorithm `direct` for each collective, in place and not, for every dim and element type.

#include "collectives/shared/direct.h"

#include <gtest/gtest.h>

#include "collectives/collectives.h"
#include "collectives/run/staging.h"
#include "runtime/base/check.h"
#include "runtime/base/counter_rng.h"
#include "tests/collectives/direct_fixture.h"

namespace shardline::collectives {
namespace {

constexpr Index kArena = Index{1} << 20;

/// Sizes from 0 to 4 p: every block of 0 to 4 elements, uneven ones included.
std::vector<Index> sizes(Index positions) {
  std::vector<Index> all = interesting_sizes(positions);
  for (const Index n : {2 * positions - 1, 3 * positions + 1, 4 * positions}) all.push_back(n);
  return all;
}

Shape shape_with(int dim, Index n) {
  Shape shape{2, 3, 2};
  shape[static_cast<std::size_t>(dim)] = n;
  return shape;
}

/// The first element of a block in an array that is cut along its first dim.
Index first_of(Range block, const Shape& whole) {
  return whole[0] == 0 ? 0 : block.begin * (element_count(whole) / whole[0]);
}

TEST(Direct, AllGatherOfABlockThatIsInItsPlace) {
  for_each_arena(kArena, [](Stage& stage) {
    if (stage.positions() == 1) return;
    for (const Index n : sizes(stage.positions())) {
      const Tensor expected = whole_numbers(DType::f32, {n, 3}, "gathered");
      Tensor out = spoiled_in_arena(stage, DType::f32, expected.shape());
      const Range own = stage.block(n);
      Tensor in = over(out, 3 * own.begin, {own.size(), 3});
      in.assign({{0, own.size()}, {0, 3}}, cut_tensor(expected, 0, own));
      all_gather(stage.engine, stage.axes, in, 0, out, kDirect);
      ASSERT_TRUE(same_bits(out, expected)) << n;
    }
  });
}

TEST(Direct, AllToAllBetweenAllPairsOfDims) {
  for_each_arena(kArena, [](Stage& stage) {
    const std::vector<Index> some = sizes(stage.positions());
    for (int gather_dim = 0; gather_dim < 3; ++gather_dim) {
      for (int split_dim = 0; split_dim < 3; ++split_dim) {
        if (split_dim == gather_dim) continue;
        for (std::size_t k = 0; k < some.size() * some.size(); ++k) {
          Shape shape{2, 2, 2};
          shape[static_cast<std::size_t>(gather_dim)] = some[k % some.size()];
          shape[static_cast<std::size_t>(split_dim)] = some[k / some.size()];
          const Tensor logical = whole_numbers(kAllDTypes[k % 5], shape, "exchanged");
          const Range held = stage.block(logical.extent(gather_dim));
          const Range wanted = stage.block(logical.extent(split_dim));
          const Tensor in = in_arena(stage, cut_tensor(logical, gather_dim, held));
          const Tensor before = in.clone();
          const Tensor expected = cut_tensor(logical, split_dim, wanted);
          Tensor out = spoiled_in_arena(stage, logical.dtype(), expected.shape());
          all_to_all(stage.engine, stage.axes, in, gather_dim, split_dim, out, kDirect);
          ASSERT_TRUE(same_bits(out, expected))
              << to_string(shape) << " gathers " << gather_dim << " splits " << split_dim;
          ASSERT_TRUE(same_bits(in, before)) << "the input was written";
        }
      }
    }
  });
}

TEST(Direct, AllToAllInTheSameMemory) {
  for_each_arena(kArena, [](Stage& stage) {
    const Index p = stage.positions();
    if (p == 1) return;
    for (const Index n : {p, 2 * p, 4 * p}) {
      const Tensor logical = whole_numbers(DType::i64, {n, 3, n}, "exchanged");
      const Tensor expected = cut_tensor(logical, 2, stage.block(n));
      Tensor in = in_arena(stage, cut_tensor(logical, 0, stage.block(n)));
      Tensor out = in.reshaped(expected.shape());
      all_to_all(stage.engine, stage.axes, in, 0, 2, out, kDirect);
      ASSERT_TRUE(same_bits(out, expected)) << n;
    }
  });
}

TEST(Direct, ShiftOfBlocksOfDifferentSizes) {
  for_each_arena(kArena, [](Stage& stage) {
    const Index p = stage.positions();
    const auto given_by = [](DType dtype, Index position) {
      return whole_numbers(dtype, {position % 3, 2, position}, fmt::format("shifted {}", position));
    };
    for (const Index offset : {Index{0}, Index{1}, Index{-1}, Index{2}, p, 3 * p + 1}) {
      const Index giver = ((stage.position() - offset) % p + p) % p;
      for (const DType dtype : kAllDTypes) {
        const Tensor expected = given_by(dtype, giver);
        const Tensor in = in_arena(stage, given_by(dtype, stage.position()));
        Tensor out = spoiled_in_arena(stage, dtype, expected.shape());
        shift(stage.engine, stage.axes, in, offset, out, kDirect);
        ASSERT_TRUE(same_bits(out, expected)) << "by " << offset;
        if (p == 1 || giver == stage.position()) continue;

        Tensor both = in_arena(stage, whole_numbers(dtype, {5}, fmt::format("in place {}", stage.position())));
        shift(stage.engine, stage.axes, both, offset, both, kDirect);
        ASSERT_TRUE(same_bits(both, whole_numbers(dtype, {5}, fmt::format("in place {}", giver)))) << "by " << offset;
      }
    }
  });
}

std::vector<Tensor> operands(const Stage& stage, DType dtype, const Shape& shape) {
  std::vector<Tensor> all;
  for (const Index rank : stage.group()) all.push_back(whole_numbers(dtype, shape, fmt::format("operand {}", rank)));
  return all;
}

/// The operands combined, in f64 for floats.
Tensor result(ReduceOp op, const std::vector<Tensor>& arrays) {
  if (op != ReduceOp::avg) return combine(op, arrays);
  std::vector<Tensor> wide;
  for (const Tensor& array : arrays) wide.push_back(array.as(DType::f64));
  Tensor sum = combine(ReduceOp::sum, wide);
  for (Index i = 0; i < sum.size(); ++i) sum.view<double>()[i] /= static_cast<double>(arrays.size());
  return sum.as(arrays.front().dtype());
}

std::vector<ReduceOp> ops_of(DType dtype) {
  if (is_integer(dtype)) return {ReduceOp::sum, ReduceOp::max};
  return {ReduceOp::sum, ReduceOp::max, ReduceOp::avg};
}

TEST(Direct, ReduceScatterAlongEveryDim) {
  for_each_arena(kArena, [](Stage& stage) {
    for (const Index n : sizes(stage.positions())) {
      for (int dim = 0; dim < 3; ++dim) {
        for (const DType dtype : kAllDTypes) {
          const std::vector<Tensor> arrays = operands(stage, dtype, shape_with(dim, n));
          const Tensor in = in_arena(stage, arrays[static_cast<std::size_t>(stage.position())]);
          const Tensor before = in.clone();
          for (const ReduceOp op : ops_of(dtype)) {
            if (op == ReduceOp::avg && stage.positions() == 1) continue;
            const Tensor expected = cut_tensor(result(op, arrays), dim, stage.block(n));
            Tensor out = spoiled_in_arena(stage, dtype, expected.shape());
            reduce_scatter(stage.engine, stage.axes, op, in, dim, out, kDirect);
            ASSERT_TRUE(same_bits(out, expected))
                << n << " along " << dim << " " << name_of(dtype) << " " << name_of(op);
            ASSERT_TRUE(same_bits(in, before)) << "the input was written";
          }
        }
      }
    }
  });
}

TEST(Direct, ReduceScatterIntoTheOwnBlockOfTheOperand) {
  for_each_arena(kArena, [](Stage& stage) {
    if (stage.positions() == 1) return;
    for (const Index n : sizes(stage.positions())) {
      const std::vector<Tensor> arrays = operands(stage, DType::bf16, {n, 3});
      Tensor in = in_arena(stage, arrays[static_cast<std::size_t>(stage.position())]);
      const Range own = stage.block(n);
      Tensor out = over(in, first_of(own, in.shape()), {own.size(), 3});
      reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, in, 0, out, kDirect);
      ASSERT_TRUE(same_bits(out, cut_tensor(combine(ReduceOp::sum, arrays), 0, own))) << n;
    }
  });
}

TEST(Direct, AllReduceInPlaceAndNot) {
  for_each_arena(kArena, [](Stage& stage) {
    std::vector<Index> some = sizes(stage.positions());
    some.push_back(10007);  // two passes on more than two ranks; in place always two
    for (const Index n : some) {
      for (const DType dtype : kAllDTypes) {
        const Shape shape{n, 1, n % 2 == 0 ? 1 : 2};
        const std::vector<Tensor> arrays = operands(stage, dtype, shape);
        const Tensor in = in_arena(stage, arrays[static_cast<std::size_t>(stage.position())]);
        const Tensor before = in.clone();
        for (const ReduceOp op : ops_of(dtype)) {
          if (op == ReduceOp::avg && stage.positions() == 1) continue;
          const Tensor expected = result(op, arrays);
          Tensor out = spoiled_in_arena(stage, dtype, shape);
          all_reduce(stage.engine, stage.axes, op, in, out, kDirect);
          ASSERT_TRUE(same_bits(out, expected)) << n << " " << name_of(dtype) << " " << name_of(op);
          ASSERT_TRUE(same_bits(in, before)) << "the input was written";

          Tensor both = in_arena(stage, before);
          all_reduce(stage.engine, stage.axes, op, both, both, kDirect);
          ASSERT_TRUE(same_bits(both, expected)) << "in place, " << n << " " << name_of(dtype) << " " << name_of(op);
        }
      }
    }
  });
}

template <class T>
Tensor normal_numbers(DType dtype, Index size, Index rank) {
  const CounterRng rng(2, fmt::format("rounding {}", rank));
  Tensor tensor(dtype, {size});
  for (Index i = 0; i < size; ++i) tensor.view<T>()[i] = static_cast<T>(static_cast<float>(rng.normal(i)));
  return tensor;
}

/// Sums with rounding: in order of position, in f32, rounded to T once; the same on every rank for every
/// collective.
template <class T>
void check_order(Stage& stage, DType dtype, Index size) {
  std::vector<Tensor> arrays;
  for (const Index rank : stage.group()) arrays.push_back(normal_numbers<T>(dtype, size, rank));
  Tensor expected(dtype, {size});
  for (Index i = 0; i < size; ++i) {
    auto sum = static_cast<float>(arrays[0].view<T>()[i]);
    for (std::size_t k = 1; k < arrays.size(); ++k) sum += static_cast<float>(arrays[k].view<T>()[i]);
    expected.view<T>()[i] = static_cast<T>(sum);
  }
  const Tensor in = in_arena(stage, arrays[static_cast<std::size_t>(stage.position())]);
  Tensor out = spoiled_in_arena(stage, dtype, {size});
  all_reduce(stage.engine, stage.axes, ReduceOp::sum, in, out, kDirect);
  EXPECT_TRUE(same_bits(out, expected)) << "all_reduce of " << size << " " << name_of(dtype);
  Tensor both = in_arena(stage, in);
  all_reduce(stage.engine, stage.axes, ReduceOp::sum, both, both, kDirect);
  EXPECT_TRUE(same_bits(both, expected)) << "all_reduce in place of " << size << " " << name_of(dtype);
  Tensor block = spoiled_in_arena(stage, dtype, {stage.block(size).size()});
  reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, in, 0, block, kDirect);
  EXPECT_TRUE(same_bits(block, cut_tensor(expected, 0, stage.block(size)))) << "reduce_scatter of " << size;
}

TEST(Direct, AddsInTheOrderOfPositions) {
  for_each_arena(kArena, [](Stage& stage) {
    for (const Index size : {Index{100}, Index{20003}}) {
      check_order<float>(stage, DType::f32, size);
      check_order<BFloat16>(stage, DType::bf16, size);
    }
  });
}

/// A stage over all ranks with an arena of `bytes`; null if the machine has too little shared memory.
std::unique_ptr<Stage> stage_with(Index bytes) {
  auto stage = std::make_unique<Stage>(MeshCase{AbstractMesh({{"X", world().size()}}), {"X"}});
  try {
    stage->engine.set_arena(std::make_shared<Arena>(stage->mesh, bytes));
  } catch (const UsageError&) {
    return nullptr;
  }
  return stage;
}

TEST(Direct, ArraysOfManyPieces) {
  const Index n = 600001;  // 2.4 MB
  const std::unique_ptr<Stage> stage = stage_with(Index{8} << 20);
  if (stage == nullptr) GTEST_SKIP() << "too little shared memory";
  const std::vector<Tensor> arrays = operands(*stage, DType::f32, {n});
  const Tensor sum = combine(ReduceOp::sum, arrays);
  Tensor whole = in_arena(*stage, arrays[static_cast<std::size_t>(stage->position())]);
  Tensor out = spoiled_in_arena(*stage, DType::f32, {n});
  Tensor block = spoiled_in_arena(*stage, DType::f32, {stage->block(n).size()});
  reduce_scatter(stage->engine, stage->axes, ReduceOp::sum, whole, 0, block, kDirect);
  EXPECT_TRUE(same_bits(block, cut_tensor(sum, 0, stage->block(n))));
  all_gather(stage->engine, stage->axes, block, 0, out, kDirect);
  EXPECT_TRUE(same_bits(out, sum));
  all_reduce(stage->engine, stage->axes, ReduceOp::sum, whole, out, kDirect);
  EXPECT_TRUE(same_bits(out, sum));
  all_reduce(stage->engine, stage->axes, ReduceOp::sum, whole, whole, kDirect);
  EXPECT_TRUE(same_bits(whole, sum));
}

TEST(Direct, ArraysThatAreWrittenPastTheCaches) {
  if (world().size() > 3) GTEST_SKIP() << "much memory";
  const Index rows = 5;
  const Index n = 850001;  // 17 MB
  const std::unique_ptr<Stage> stage = stage_with(Index{36} << 20);
  if (stage == nullptr) GTEST_SKIP() << "too little shared memory";
  Tensor expected(DType::f32, {rows, n});
  for (Index i = 0; i < expected.size(); ++i) expected.view<float>()[i] = static_cast<float>(i % 16777213);
  const Tensor block = in_arena(*stage, cut_tensor(expected, 1, stage->block(n)));
  Tensor out = in_arena(*stage, Tensor::zeros(DType::f32, {rows, n}));
  all_gather(stage->engine, stage->axes, block, 1, out, kDirect);
  EXPECT_TRUE(same_bits(out, expected));
  all_reduce(stage->engine, stage->axes, ReduceOp::max, out, out, kDirect);
  EXPECT_TRUE(same_bits(out, expected));
}

TEST(Direct, CountsTheBytesReadFromOthers) {
  for_each_arena(kArena, [](Stage& stage) {
    const Index p = stage.positions();
    if (p == 1) return;
    const auto bytes = [](Handle handle) {
      handle.wait();
      return handle.wire_bytes();
    };
    for (const Index n : {Index{50} * p, Index{5000} * p}) {
      Tensor whole = in_arena(stage, Tensor::zeros(DType::f32, {n}));
      Tensor out = spoiled_in_arena(stage, DType::f32, {n});
      Tensor block = spoiled_in_arena(stage, DType::f32, {n / p});
      EXPECT_EQ(bytes(start_reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, whole, 0, block, kDirect)),
                (p - 1) * block.bytes());
      // In place: two passes. Otherwise one pass if the array is small.
      EXPECT_EQ(bytes(start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, whole, whole, kDirect)),
                (p - 1) * 2 * block.bytes());
      const bool small = p == 2 || whole.bytes() < 8192;
      EXPECT_EQ(bytes(start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, whole, out, kDirect)),
                (p - 1) * (small ? whole.bytes() : 2 * block.bytes()));
      EXPECT_EQ(bytes(start_shift(stage.engine, stage.axes, whole, 1, out, kDirect)), whole.bytes());
    }
  });
}

/// With two ranks one pass reads as much as two passes.
TEST(Direct, HowManyPassesIsUpToTheTuning) {
  for_each_arena(kArena, [](Stage& stage) {
    const Index p = stage.positions();
    if (p <= 2) return;
    const Index n = 100 * p;
    const Tensor in = in_arena(stage, whole_numbers(DType::f32, {n}, "summed"));
    Tensor out = spoiled_in_arena(stage, DType::f32, {n});
    for (const Index limit : {in.bytes(), in.bytes() + 1}) {
      Tuning tuning = Tuning::built_in();
      tuning.one_pass_bytes_of_more = limit;
      stage.engine.set_tuning(tuning);
      Handle handle = start_all_reduce(stage.engine, stage.axes, ReduceOp::sum, in, out, kDirect);
      handle.wait();
      EXPECT_EQ(handle.wire_bytes(), (p - 1) * (limit > in.bytes() ? in.bytes() : 2 * in.bytes() / p));
    }
  });
}

}  // namespace
}  // namespace shardline::collectives
