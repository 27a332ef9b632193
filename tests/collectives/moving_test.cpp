// Collectives that move elements without a change. Every rank makes the logical array itself and compares.

#include <gtest/gtest.h>

#include "collectives/all_gather.h"
#include "collectives/all_to_all.h"
#include "collectives/shift.h"
#include "tests/collectives/fixture.h"

namespace shardline::collectives {
namespace {

/// A shape of three dims; `dim` has `n` elements.
Shape shape_with(int dim, Index n) {
  Shape shape{2, 3, 2};
  shape[static_cast<std::size_t>(dim)] = n;
  return shape;
}

TEST(AllGather, AlongEveryDim) {
  Turns turns;
  for_each_mesh([&](Stage& stage) {
    for (const Index n : interesting_sizes(stage.positions())) {
      for (int dim = 0; dim < 3; ++dim) {
        for (const DType dtype : kAllDTypes) {
          const Tensor expected = whole_numbers(dtype, shape_with(dim, n), "gathered");
          const Tensor in = cut_tensor(expected, dim, stage.block(n));
          const Tensor before = in.clone();
          for (const Options& options : all_options()) {
            if (!turns.taken()) continue;
            Tensor out = spoiled(dtype, expected.shape());
            all_gather(stage.engine, stage.axes, in, dim, out, options);
            ASSERT_TRUE(same_bits(out, expected))
                << n << " along " << dim << " " << name_of(dtype) << " " << describe(options);
            ASSERT_TRUE(same_bits(in, before)) << "the input was written";
            if (dim != 0) continue;
            const Range own = stage.block(n);
            Tensor start = spoiled(dtype, expected.shape());
            start.assign({own, {0, start.extent(1)}, {0, start.extent(2)}}, in);
            InPlace both = in_place(start, own);
            all_gather(stage.engine, stage.axes, both.block, dim, both.whole, options);
            ASSERT_TRUE(same_bits(both.whole, expected)) << "in place, " << n << " " << describe(options);
          }
        }
      }
    }
  });
}

TEST(AllGather, PacksOnlyWhatIsNotContiguous) {
  for_each_mesh([](Stage& stage) {
    if (stage.positions() == 1) return;
    const Index n = 2 * stage.positions() + 1;
    for (const Shape& shape : {Shape{n, 3, 2}, Shape{3, n, 2}}) {
      const int dim = shape[0] == n ? 0 : 1;
      const Tensor whole = whole_numbers(DType::f32, shape, "packed");
      Tensor out = spoiled(DType::f32, shape);
      Handle handle = start_all_gather(stage.engine, stage.axes, cut_tensor(whole, dim, stage.block(n)), dim, out);
      handle.wait();
      EXPECT_EQ(handle.packed_bytes(), dim == 0 ? 0 : whole.bytes());
    }
  });
}

TEST(AllToAll, BetweenAllPairsOfDims) {
  Turns turns(7);
  for_each_mesh([&](Stage& stage) {
    const std::vector<Index> sizes = interesting_sizes(stage.positions());
    for (int gather_dim = 0; gather_dim < 3; ++gather_dim) {
      for (int split_dim = 0; split_dim < 3; ++split_dim) {
        if (split_dim == gather_dim) continue;
        // Every pair of sizes. Element types and algorithms take turns.
        for (std::size_t k = 0; k < sizes.size() * sizes.size(); ++k) {
          if (!turns.taken()) continue;
          const Index gathered = sizes[k % sizes.size()];
          const Index split = sizes[k / sizes.size()];
          const DType dtype = kAllDTypes[k % 5];
          Shape shape{2, 2, 2};
          shape[static_cast<std::size_t>(gather_dim)] = gathered;
          shape[static_cast<std::size_t>(split_dim)] = split;
          const Tensor logical = whole_numbers(dtype, shape, "exchanged");
          const Tensor in = cut_tensor(logical, gather_dim, stage.block(gathered));
          const Tensor expected = cut_tensor(logical, split_dim, stage.block(split));
          const Tensor before = in.clone();
          const Options options = all_options()[k % all_options().size()];
          Tensor out = spoiled(dtype, expected.shape());
          all_to_all(stage.engine, stage.axes, in, gather_dim, split_dim, out, options);
          ASSERT_TRUE(same_bits(out, expected))
              << to_string(shape) << " gathers " << gather_dim << " splits " << split_dim << " " << describe(options);
          ASSERT_TRUE(same_bits(in, before)) << "the input was written";
          if (gathered % stage.positions() != 0 || split % stage.positions() != 0) continue;
          Tensor both = in.clone();
          Tensor same = both.reshaped(expected.shape());
          all_to_all(stage.engine, stage.axes, both, gather_dim, split_dim, same, options);
          ASSERT_TRUE(same_bits(same, expected)) << "in place, " << to_string(shape) << " " << describe(options);
        }
      }
    }
  });
}

TEST(Shift, BlocksOfDifferentSizes) {
  for_each_mesh([](Stage& stage) {
    const Index p = stage.positions();
    const auto given_by = [](DType dtype, Index position) {
      return whole_numbers(dtype, {position % 3, 2, position}, fmt::format("shifted {}", position));
    };
    for (const Index offset : {Index{0}, Index{1}, Index{-1}, Index{2}, p, 3 * p + 1}) {
      for (const DType dtype : kAllDTypes) {
        for (const Options& options : shift_options()) {
          const Index giver = ((stage.position() - offset) % p + p) % p;
          const Tensor expected = given_by(dtype, giver);
          Tensor out = spoiled(dtype, expected.shape());
          shift(stage.engine, stage.axes, given_by(dtype, stage.position()), offset, out, options);
          ASSERT_TRUE(same_bits(out, expected)) << "by " << offset << " " << describe(options);
        }
      }
    }
  });
}

TEST(Shift, InPlace) {
  for_each_mesh([](Stage& stage) {
    const Index p = stage.positions();
    for (const Index offset : {Index{0}, Index{1}, Index{-1}}) {
      for (const Options& options : shift_options()) {
        const auto given_by = [](Index position) {
          return whole_numbers(DType::f64, {1000}, fmt::format("in place {}", position));
        };
        Tensor both = given_by(stage.position());
        shift(stage.engine, stage.axes, both, offset, both, options);
        ASSERT_TRUE(same_bits(both, given_by(((stage.position() - offset) % p + p) % p))) << describe(options);
      }
    }
  });
}

TEST(Moving, OverNoAxesIsALocalCopy) {
  Stage stage({AbstractMesh({{"X", world().size()}}), {}});
  const Tensor in = whole_numbers(DType::f32, {3, 4}, "local");
  Tensor out = spoiled(DType::f32, {3, 4});
  Handle handle = start_all_gather(stage.engine, {}, in, 1, out, {.algorithm = Algorithm::native});
  EXPECT_TRUE(handle.done());
  EXPECT_EQ(handle.wire_bytes(), 0);
  EXPECT_TRUE(same_bits(out, in));
  out = spoiled(DType::f32, {3, 4});
  all_to_all(stage.engine, {}, in, 0, 1, out);
  EXPECT_TRUE(same_bits(out, in));
}

}  // namespace
}  // namespace shardline::collectives
