// All_to_alls that move only the rows in use and leave the others as they are. Every rank makes the logical array and
// the counts itself and compares.

#include "collectives/all_to_all_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "collectives/shared/direct.h"
#include "runtime/base/counter_rng.h"
#include "tests/collectives/direct_fixture.h"

namespace shardline::collectives {
namespace {

constexpr Index kArena = Index{1} << 20;
constexpr int kSpoiled = 0x5A;  // the bytes of spoiled()
constexpr Index kRoom = 5;      // rows of a cell
enum class Fill { none, all, random, one };
constexpr Fill kFills[] = {Fill::none, Fill::all, Fill::random, Fill::one};

/// Counts [m, n]. `one`: one cell of each column has all rows, the others have none.
Tensor counts_of(Fill fill, Index m, Index n) {
  const CounterRng rng(2, "rows in use");
  Tensor counts(DType::i32, {m, n});
  for (Index k = 0; k < counts.size(); ++k) {
    const Index random = static_cast<Index>(rng.below(k, kRoom + 1));
    const Index one = k / n == m / 2 ? kRoom : 0;
    const Index count = fill == Fill::none ? 0 : fill == Fill::all ? kRoom : fill == Fill::one ? one : random;
    counts.view<std::int32_t>()[k] = static_cast<std::int32_t>(count);
  }
  return counts;
}

/// `array` with `byte` in all bytes of the rows that are not in use.
Tensor with_unused(const Tensor& array, const Tensor& counts, int byte) {
  Tensor result = array.clone();
  const Index cells = counts.size();
  if (cells == 0) return result;
  const Index cell = result.bytes() / cells;
  for (Index k = 0; k < cells; ++k) {
    const Index used = counts.view<std::int32_t>()[k] * (cell / kRoom);
    std::fill(result.data() + k * cell + used, result.data() + (k + 1) * cell, static_cast<std::byte>(byte));
  }
  return result;
}

/// The blocks of one rank in an exchange of a logical array [m, n, kRoom, 3].
struct Blocks {
  Blocks(const Stage& stage, DType dtype, Fill fill, std::pair<Index, Index> extents, int gather)
      : gather_dim(gather), counts(counts_of(fill, extents.first, extents.second)) {
    const Tensor values = whole_numbers(dtype, {extents.first, extents.second, kRoom, 3}, "cells");
    const Range held = stage.block(values.extent(gather));
    const Range wanted = stage.block(values.extent(1 - gather));
    in = cut_tensor(with_unused(values, counts, 0x7F), gather, held);
    expected = cut_tensor(with_unused(values, counts, kSpoiled), 1 - gather, wanted);
    before = cut_tensor(counts, gather, held);
    after = cut_tensor(counts, 1 - gather, wanted);
  }

  /// Rows that other positions send to this one, by the counts alone.
  Index rows_from_others(const Stage& stage) const {
    const Range held = stage.block(counts.extent(gather_dim));
    const Range wanted = stage.block(counts.extent(1 - gather_dim));
    return rows_of(gather_dim == 0 ? std::pair{Range{0, counts.extent(0)}, wanted}
                                   : std::pair{wanted, Range{0, counts.extent(1)}}) -
           rows_of(gather_dim == 0 ? std::pair{held, wanted} : std::pair{wanted, held});
  }
  /// Rows that this position sends to others.
  Index rows_to_others(const Stage& stage) const {
    const Range held = stage.block(counts.extent(gather_dim));
    const Range wanted = stage.block(counts.extent(1 - gather_dim));
    return rows_of(gather_dim == 0 ? std::pair{held, Range{0, counts.extent(1)}}
                                   : std::pair{Range{0, counts.extent(0)}, held}) -
           rows_of(gather_dim == 0 ? std::pair{held, wanted} : std::pair{wanted, held});
  }

  int gather_dim;
  Tensor counts;  ///< logical
  Tensor in, expected, before, after;
  Index first = 0;  ///< row of the cells that lies here

 private:
  Index rows_of(const std::pair<Range, Range>& box) const {
    Index sum = 0;
    for (Index i = box.first.begin; i < box.first.end; ++i) {
      for (Index j = box.second.begin; j < box.second.end; ++j) {
        sum += counts.view<std::int32_t>()[i * counts.extent(1) + j];
      }
    }
    return sum;
  }
};

/// Calls `check` for uneven and empty blocks, every fill, both directions, and element types in turns.
void for_each_case(const Stage& stage, Index stride,
                   const std::function<void(const Blocks&, const std::string&)>& check) {
  Turns turns(stride);
  const Index p = stage.positions();
  const std::vector<std::pair<Index, Index>> extents{{1, p + 1}, {p + 1, 1},         {p - 1, 2 * p}, {2 * p, 2 * p},
                                                     {0, p},     {2 * p + 1, p - 1}, {p, 0},         {7, 2 * p + 1}};
  std::size_t k = 0;
  for (const auto& size : extents) {
    for (const Fill fill : kFills) {
      for (const int gather : {0, 1}) {
        const DType dtype = kAllDTypes[k++ % 5];
        if (!turns.taken()) continue;
        check(Blocks(stage, dtype, fill, size, gather),
              fmt::format("[{}, {}] gathers {}, fill {}, {}", size.first, size.second, gather, static_cast<int>(fill),
                          name_of(dtype)));
      }
    }
  }
}

TEST(AllToAllRows, MovesRowsInUseAlone) {
  for_each_mesh([](Stage& stage) {
    for (const Options& options : reshard_options()) {
      for_each_case(stage, 3, [&](const Blocks& blocks, const std::string& text) {
        const Tensor before = blocks.in.clone();
        Tensor out = spoiled(blocks.in.dtype(), blocks.expected.shape());
        Handle handle = start_all_to_all_rows(stage.engine, stage.axes, blocks.in, blocks.gather_dim, out,
                                              {blocks.before, blocks.after}, options);
        handle.wait();
        ASSERT_TRUE(same_bits(out, blocks.expected)) << text << " " << describe(options);
        ASSERT_TRUE(same_bits(blocks.in, before)) << "the input was written";
        if (options.algorithm == Algorithm::native) return;
        const Index row = 3 * size_of(out.dtype());
        ASSERT_EQ(handle.wire_bytes(), blocks.rows_to_others(stage) * row) << text;
        ASSERT_EQ(handle.packed_bytes(), (blocks.rows_to_others(stage) + blocks.rows_from_others(stage)) * row) << text;
      });
    }
  });
}

TEST(AllToAllRows, ReadsRowsInUseFromOthers) {
  for_each_arena(kArena, [](Stage& stage) {
    for_each_case(stage, 1, [&](const Blocks& blocks, const std::string& text) {
      const Tensor in = in_arena(stage, blocks.in);
      Tensor out = spoiled_in_arena(stage, in.dtype(), blocks.expected.shape());
      Handle handle =
          start_all_to_all_rows(stage.engine, stage.axes, in, blocks.gather_dim, out, {blocks.before, blocks.after});
      handle.wait();
      const bool direct = stage.positions() > 1 && stage.mesh.group(stage.axes).one_node;
      ASSERT_EQ(handle.algorithm(), direct ? Algorithm::direct : Algorithm::pairwise);
      ASSERT_TRUE(same_bits(out, blocks.expected)) << text;
      ASSERT_TRUE(same_bits(in, blocks.in)) << "the input was written";
      const Index rows = direct ? blocks.rows_from_others(stage) : blocks.rows_to_others(stage);
      ASSERT_EQ(handle.wire_bytes(), rows * 3 * size_of(out.dtype())) << text;
    });
  });
}

TEST(AllToAllRows, FullCellsMoveAsManyBytesAsAnAllToAll) {
  for_each_mesh([](Stage& stage) {
    const Index p = stage.positions();
    const Blocks blocks(stage, DType::bf16, Fill::all, {2 * p, 3 * p}, 1);
    Tensor out = spoiled(DType::bf16, blocks.expected.shape());
    Handle handle = start_all_to_all_rows(stage.engine, stage.axes, blocks.in, 1, out, {blocks.before, blocks.after});
    handle.wait();
    EXPECT_TRUE(same_bits(out, blocks.expected));
    const Index whole = 2 * p * 3 * p * kRoom * 3 * 2;
    EXPECT_EQ(handle.wire_bytes(), whole * (p - 1) / (p * p));
  });
}

/// There and back in flight at the same time. Another axis splits the rows of the cells, or the elements of a row.
TEST(AllToAllRows, SeveralAreInFlightBesideOtherAxes) {
  Stage stage({two_axes(), {"Y"}});
  const Index p = stage.positions();
  const Index x = stage.mesh.axes().position_in_group(stage.mesh.rank(), {"X"});
  std::vector<Tensor> outs;
  std::vector<Handle> handles;
  std::vector<Blocks> all;
  for (const Fill fill : kFills) {
    for (const int gather : {0, 1}) {
      for (const int dim : {2, 3}) {
        Blocks blocks(stage, DType::f64, fill, {p + 1, 2 * p}, gather);
        const Range part = block(blocks.in.extent(dim), stage.mesh.axes().size("X"), x);
        blocks.in = cut_tensor(blocks.in, dim, part);
        blocks.expected = cut_tensor(blocks.expected, dim, part);
        blocks.first = dim == 2 ? part.begin : 0;
        outs.push_back(spoiled(DType::f64, blocks.expected.shape()));
        all.push_back(std::move(blocks));
      }
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    handles.push_back(start_all_to_all_rows(stage.engine, stage.axes, all[k].in, all[k].gather_dim, outs[k],
                                            {all[k].before, all[k].after, all[k].first, kRoom}));
  }
  for (Handle& handle : handles) handle.wait();
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_TRUE(same_bits(outs[k], all[k].expected)) << k;
}

TEST(AllToAllRows, CellsLargerThanAPieceOfADirectRun) {
  for_each_arena(Index{40} << 20, [](Stage& stage) {
    const Index p = stage.positions();
    const Index held = stage.block(p).size();
    const Index width = (Index{3} << 20) / 4 / p;
    Tensor in(DType::f32, {p, held, 2, width});
    const Range own = stage.block(p);
    for (Index k = 0; k < in.size(); ++k) {
      const Index expert = k / (held * 2 * width);
      in.view<float>()[k] = static_cast<float>(expert * p + own.begin) + static_cast<float>(k % 97) / 128;
    }
    Tensor before(DType::i32, {p, held});
    std::fill(before.view<std::int32_t>().begin(), before.view<std::int32_t>().end(), 1);
    Tensor after(DType::i32, {held, p});
    std::fill(after.view<std::int32_t>().begin(), after.view<std::int32_t>().end(), 1);
    const Tensor shared = in_arena(stage, in);
    Tensor out = spoiled_in_arena(stage, DType::f32, {held, p, 2, width});
    all_to_all_rows(stage.engine, stage.axes, shared, 1, out, {before, after});
    for (Index from = 0; from < p; ++from) {
      for (Index k = 0; k < 2 * width; ++k) {
        const Index there = (own.begin * 2 * width + k) % 97;  // where this rank's cell begins in the array of `from`
        const float value = static_cast<float>(own.begin * p + from) + static_cast<float>(there) / 128;
        if (k < width) {
          ASSERT_EQ(out.view<float>()[from * 2 * width + k], value) << from << " " << k;
        }
      }
    }
  });
}

TEST(AllToAllRows, RefusesWhatCannotBe) {
  Stage stage({AbstractMesh({{"X", world().size()}}), {"X"}});
  const Index p = stage.positions();
  const Blocks blocks(stage, DType::f32, Fill::random, {2 * p, 2 * p}, 0);
  Tensor out = spoiled(DType::f32, blocks.expected.shape());
  const auto call = [&](const Tensor& before, const Tensor& after, const Options& options = {}) {
    all_to_all_rows(stage.engine, stage.axes, blocks.in, 0, out, {before, after}, options);
  };
  Tensor high = blocks.before.clone();
  high.view<std::int32_t>()[0] = kRoom + 1;
  expect_refused([&] { call(high, blocks.after); }, {"cell (0, 0) of in has 6 rows in use", "legal are 0 to 5"});
  Tensor low = blocks.after.clone();
  low.view<std::int32_t>()[1] = -1;
  expect_refused([&] { call(blocks.before, low); }, {"of out has -1 rows in use"});
  expect_refused([&] { call(blocks.before.reshaped({blocks.before.size()}), blocks.after); },
                 {"the rows in use of in are i32 of", "the leading dims of"});
  expect_refused([&] { call(Tensor(DType::f32, blocks.before.shape()), blocks.after); }, {"are f32 of"});
  Tensor other = blocks.before.clone();
  const Index own = stage.position() * 2;  // the first cell that stays
  auto& count = other.view<std::int32_t>()[own];
  count = count == 0 ? 1 : 0;
  expect_refused([&] { call(other, blocks.after); }, {"other counts of rows before than after"});
  expect_refused([&] { call(blocks.before, blocks.after, {.algorithm = Algorithm::ring}); },
                 {"has no algorithm ring; it has pairwise, direct and native"});
  expect_refused(
      [&] {
        all_to_all_rows(stage.engine, stage.axes, blocks.in, 2, out, {blocks.before, blocks.after});
      },
      {"it gathers dim 2; legal are 0 and 1"});
  Tensor both = blocks.in.clone();
  Tensor same = both.reshaped(blocks.expected.shape());
  expect_refused(
      [&] {
        all_to_all_rows(stage.engine, stage.axes, both, 0, same, {blocks.before, blocks.after});
      },
      {"in and out are the same memory"});
}

}  // namespace
}  // namespace shardline::collectives
