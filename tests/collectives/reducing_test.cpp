// Collectives that combine elements. Whole numbers make every order exact. One test with rounding checks the
// documented order.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "collectives/all_reduce.h"
#include "collectives/reduce_scatter.h"
#include "runtime/base/counter_rng.h"
#include "runtime/mpi/error.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

/// The reductions of `dtype`.
std::vector<ReduceOp> operations(DType dtype) {
  if (is_integer(dtype)) return {ReduceOp::sum, ReduceOp::max};
  return {ReduceOp::sum, ReduceOp::max, ReduceOp::avg};
}

/// The operands of the ranks of this rank's group, in order of position.
std::vector<Tensor> operands(const Stage& stage, DType dtype, const Shape& shape) {
  std::vector<Tensor> all;
  for (const Index rank : stage.group()) all.push_back(whole_numbers(dtype, shape, fmt::format("operand {}", rank)));
  return all;
}

TEST(ReduceScatter, AlongEveryDim) {
  Turns turns;
  for_each_mesh([&](Stage& stage) {
    for (const Index n : interesting_sizes(stage.positions())) {
      for (int dim = 0; dim < 3; ++dim) {
        for (const DType dtype : kAllDTypes) {
          Shape shape{2, 3, 2};
          shape[static_cast<std::size_t>(dim)] = n;
          const std::vector<Tensor> arrays = operands(stage, dtype, shape);
          const Tensor in = arrays[static_cast<std::size_t>(stage.position())];
          const Tensor before = in.clone();
          for (const ReduceOp op : operations(dtype)) {
            const Tensor expected = cut_tensor(combine(op, arrays), dim, stage.block(n));
            for (const Options& options : reducing_options(dtype)) {
              if (!turns.taken()) continue;
              Tensor out = spoiled(dtype, expected.shape());
              reduce_scatter(stage.engine, stage.axes, op, in, dim, out, options);
              ASSERT_TRUE(same_bits(out, expected))
                  << n << " along " << dim << " " << name_of(dtype) << " " << name_of(op) << " " << describe(options);
              ASSERT_TRUE(same_bits(in, before)) << "the input was written";
              if (dim != 0) continue;
              InPlace both = in_place(in, stage.block(n));
              reduce_scatter(stage.engine, stage.axes, op, both.whole, dim, both.block, options);
              ASSERT_TRUE(same_bits(both.block, expected))
                  << "in place, " << name_of(dtype) << " " << describe(options);
            }
          }
        }
      }
    }
  });
}

TEST(AllReduce, InPlaceAndNot) {
  Turns turns;
  for_each_mesh([&](Stage& stage) {
    for (const Index n : interesting_sizes(stage.positions())) {
      for (const DType dtype : kAllDTypes) {
        const Shape shape{n, 1, n % 2 == 0 ? 1 : 7};
        const std::vector<Tensor> arrays = operands(stage, dtype, shape);
        const Tensor in = arrays[static_cast<std::size_t>(stage.position())];
        const Tensor before = in.clone();
        for (const ReduceOp op : operations(dtype)) {
          const Tensor expected = combine(op, arrays);
          for (const Options& options : reducing_options(dtype)) {
            if (!turns.taken()) continue;
            Tensor out = spoiled(dtype, shape);
            all_reduce(stage.engine, stage.axes, op, in, out, options);
            ASSERT_TRUE(same_bits(out, expected)) << n << " " << name_of(dtype) << " " << describe(options);
            ASSERT_TRUE(same_bits(in, before)) << "the input was written";

            Tensor both = in.clone();
            all_reduce(stage.engine, stage.axes, op, both, both, options);
            ASSERT_TRUE(same_bits(both, expected)) << "in place, " << name_of(dtype) << " " << describe(options);
          }
        }
      }
    }
  });
}

/// bf16 holds each operand, but not their sums. Any order of addition gives the same sum in f32, and one rounding of it
/// one result. Only wire hop rounds more often.
TEST(AllReduce, RoundsASumOfBf16OnceAsReduceScatterDoes) {
  for_each_mesh([](Stage& stage) {
    const Index n = 301;
    std::vector<Tensor> arrays = operands(stage, DType::bf16, {n});
    for (const Tensor& array : arrays) {
      const View<BFloat16> values = Tensor(array).view<BFloat16>();
      std::for_each(values.begin(), values.end(), [](BFloat16& v) { v = BFloat16(31 * static_cast<float>(v)); });
    }
    const Tensor in = arrays[static_cast<std::size_t>(stage.position())];
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
      const Tensor expected = combine(op, arrays);
      for (const Options& options : reducing_options(DType::bf16)) {
        if (options.wire == Wire::hop) continue;
        Tensor sum = spoiled(DType::bf16, {n});
        all_reduce(stage.engine, stage.axes, op, in, sum, options);
        EXPECT_TRUE(same_bits(sum, expected)) << name_of(op) << " " << describe(options);
        Tensor block = spoiled(DType::bf16, {stage.block(n).size()});
        reduce_scatter(stage.engine, stage.axes, op, in, 0, block, options);
        EXPECT_TRUE(same_bits(block, cut_tensor(expected, 0, stage.block(n))))
            << name_of(op) << " " << describe(options);
      }
    }
  });
}

Tensor normal_numbers(Index size, Index rank) {
  const CounterRng rng(2, fmt::format("rounding {}", rank));
  Tensor tensor(DType::f32, {size});
  for (Index i = 0; i < size; ++i) tensor.view<float>()[i] = static_cast<float>(rng.normal(i));
  return tensor;
}

TEST(AllReduce, AddsInTheOrderOfTheRingAndAlikeEverywhere) {
  for_each_mesh([](Stage& stage) {
    const Index p = stage.positions();
    const Index per_chunk = 50;
    std::vector<Tensor> arrays;
    for (const Index rank : stage.group()) arrays.push_back(normal_numbers(per_chunk * p, rank));

    Tensor expected(DType::f32, {per_chunk * p});
    for (Index i = 0; i < expected.size(); ++i) {
      const Index owner = i / per_chunk;
      const auto value = [&](Index k) { return arrays[static_cast<std::size_t>((owner + k) % p)].view<float>()[i]; };
      float sum = value(1);
      for (Index k = 2; k <= p; ++k) sum += value(k);
      expected.view<float>()[i] = p == 1 ? arrays[0].view<float>()[i] : sum;
    }
    for (const Options& options :
         {Options{.algorithm = Algorithm::ring}, Options{.algorithm = Algorithm::ring, .segment_bytes = 12}}) {
      Tensor out = arrays[static_cast<std::size_t>(stage.position())].clone();
      all_reduce(stage.engine, stage.axes, ReduceOp::sum, out, out, options);
      EXPECT_TRUE(same_bits(out, expected)) << describe(options);
    }
  });
}

/// Small arrays may travel alone or packed into one: their sums have the same bits.
TEST(AllReduce, UniformSumsDoNotDependOnThePlaceInTheArray) {
  for_each_mesh([](Stage& stage) {
    const Tensor packed = normal_numbers(200, stage.mesh.rank());
    for (const Options& options : {Options{.uniform = true}, Options{.algorithm = Algorithm::doubling},
                                   Options{.algorithm = Algorithm::pairwise}}) {
      Tensor together(DType::f32, {200});
      all_reduce(stage.engine, stage.axes, ReduceOp::sum, packed, together, options);
      for (const Range part : {Range{0, 1}, Range{1, 8}, Range{8, 137}, Range{137, 200}}) {
        const Tensor alone = packed.rows(part);
        Tensor sum(DType::f32, {part.size()});
        all_reduce(stage.engine, stage.axes, ReduceOp::sum, alone, sum, options);
        EXPECT_TRUE(same_bits(sum, together.rows(part).clone())) << describe(options);
      }
    }
  });
}

TEST(ReduceScatter, KeepsToManySegmentsOfALargeArray) {
  for_each_mesh([](Stage& stage) {
    const Index n = 20000 + stage.positions() / 2;
    const std::vector<Tensor> arrays = operands(stage, DType::f32, {n, 3});
    const Tensor expected = cut_tensor(combine(ReduceOp::sum, arrays), 0, stage.block(n));
    for (const Index segment_bytes : {Index{3000}, Index{0}, Index{1} << 30}) {
      Tensor out = spoiled(DType::f32, expected.shape());
      reduce_scatter(stage.engine, stage.axes, ReduceOp::sum, arrays[static_cast<std::size_t>(stage.position())], 0,
                     out, {.algorithm = Algorithm::ring, .segment_bytes = segment_bytes});
      EXPECT_TRUE(same_bits(out, expected)) << segment_bytes;
    }
  });
}

}  // namespace
}  // namespace shardline::collectives
