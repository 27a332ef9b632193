#include "collectives/schedule/packing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "collectives/run/scratch.h"
#include "runtime/base/check.h"

namespace shardline::collectives {
namespace {

using Values = std::vector<std::int32_t>;

Values counting(const Shape& shape) {
  Values values(static_cast<std::size_t>(element_count(shape)));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

const std::byte* bytes(const Values& values) { return reinterpret_cast<const std::byte*>(values.data()); }
std::byte* bytes(Values& values) { return reinterpret_cast<std::byte*>(values.data()); }

/// Elements of `box` of a three-dim array by three plain loops.
Values box_by_loops(const Values& array, const Shape& shape, const Box& box) {
  Values result;
  for (Index i = box[0].begin; i < box[0].end; ++i) {
    for (Index j = box[1].begin; j < box[1].end; ++j) {
      for (Index k = box[2].begin; k < box[2].end; ++k) {
        result.push_back(array[static_cast<std::size_t>((i * shape[1] + j) * shape[2] + k)]);
      }
    }
  }
  return result;
}

std::vector<Range> ranges_of(Index n) {
  std::vector<Range> ranges;
  for (Index begin = 0; begin <= n; ++begin) {
    for (Index end = begin; end <= n; ++end) ranges.push_back({begin, end});
  }
  return ranges;
}

TEST(Packing, CopiesEveryBoxThereAndBack) {
  const Shape shape{2, 3, 4};
  const Values array = counting(shape);
  for (const Range& i : ranges_of(2)) {
    for (const Range& j : ranges_of(3)) {
      for (const Range& k : ranges_of(4)) {
        const Box box{i, j, k};
        const Values expected = box_by_loops(array, shape, box);
        Values packed(expected.size(), -1);
        copy_box({bytes(array), shape, box}, {bytes(packed), extents(box), whole(extents(box))}, 4);
        ASSERT_EQ(packed, expected);

        Values back(array.size(), -1);
        copy_box({bytes(packed), extents(box), whole(extents(box))}, {bytes(back), shape, box}, 4);
        ASSERT_EQ(box_by_loops(back, shape, box), expected);
        ASSERT_EQ(std::count(back.begin(), back.end(), -1), static_cast<Index>(array.size() - expected.size()));
      }
    }
  }
}

TEST(Packing, CopiesBetweenDifferentPlacesOfDifferentArrays) {
  const Shape from_shape{3, 4, 5};
  const Shape to_shape{4, 2, 6};
  const Values from = counting(from_shape);
  const Box from_box{{1, 3}, {2, 4}, {0, 4}};
  const Box to_box{{2, 4}, {0, 2}, {1, 5}};
  Values to(static_cast<std::size_t>(element_count(to_shape)), -1);
  copy_box({bytes(from), from_shape, from_box}, {bytes(to), to_shape, to_box}, 4);
  EXPECT_EQ(box_by_loops(to, to_shape, to_box), box_by_loops(from, from_shape, from_box));
  EXPECT_EQ(std::count(to.begin(), to.end(), -1), element_count(to_shape) - 16);
}

TEST(Packing, CopiesAScalarAndRefusesUnequalBoxes) {
  const Values from{7};
  Values to{0};
  copy_box({bytes(from), {}, {}}, {bytes(to), {}, {}}, 4);
  EXPECT_EQ(to, from);
  EXPECT_THROW(copy_box({bytes(from), {1}, {{0, 1}}}, {bytes(to), {1}, {{0, 0}}}, 4), Error);
}

TEST(Packing, LeavesCutsOfTheFirstDimInPlace) {
  const Chunks chunks = chunks_of({5, 3}, cuts({5, 3}, 0, {{0, 2}, {2, 4}, {4, 5}, {5, 5}}));
  EXPECT_FALSE(chunks.packed);
  EXPECT_EQ(chunks.ranges, (std::vector<Range>{{0, 6}, {6, 12}, {12, 15}, {0, 0}}));
  EXPECT_FALSE(chunks_of({1, 4, 3}, cuts({1, 4, 3}, 1, {{0, 2}, {2, 4}})).packed);
}

TEST(Packing, PacksCutsOfOtherDims) {
  const Chunks chunks = chunks_of({2, 5}, cuts({2, 5}, 1, {{0, 3}, {3, 5}}));
  EXPECT_TRUE(chunks.packed);
  EXPECT_EQ(chunks.ranges, (std::vector<Range>{{0, 6}, {6, 10}}));
  EXPECT_EQ(chunks.size(), 10);
}

TEST(Scratch, HandsTheSameMemoryOutAgain) {
  ScratchPool pool;
  std::shared_ptr<std::byte> first = pool.take(100000);
  const std::byte* address = first.get();
  const std::shared_ptr<std::byte> second = pool.take(100000);
  EXPECT_NE(second.get(), address);
  first.reset();
  EXPECT_EQ(pool.take(131072).get(), address);
  EXPECT_EQ(pool.take(90000).get(), address);
  EXPECT_EQ(pool.take(0), nullptr);
}

TEST(Scratch, OutlivesItsPool) {
  std::shared_ptr<std::byte> memory;
  {
    ScratchPool pool;
    memory = pool.take(10);
  }
  *memory = std::byte{1};
  memory.reset();
}

}  // namespace
}  // namespace shardline::collectives
