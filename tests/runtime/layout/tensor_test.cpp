#include "runtime/layout/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace shardline {
namespace {

Tensor counting(Shape shape) {
  Tensor t(DType::f32, std::move(shape));
  for (Index i = 0; i < t.size(); ++i) t.view<float>()[i] = static_cast<float>(i);
  return t;
}

TEST(Tensor, KnowsItsSize) {
  const Tensor t(DType::bf16, {3, 5});
  EXPECT_EQ(t.size(), 15);
  EXPECT_EQ(t.bytes(), 30);
  EXPECT_EQ(t.extent(1), 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0U);
  EXPECT_EQ(Tensor(DType::f64, {}).size(), 1);
  EXPECT_EQ(Tensor(DType::f64, {4, 0}).bytes(), 0);
  EXPECT_EQ(Tensor().size(), 0);
  EXPECT_THROW(Tensor(DType::f32, {-1}), Error);
  EXPECT_THROW(Tensor(DType::f32, {Index{1} << 40, Index{1} << 40}), Error);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor original = counting({4});
  const Tensor shared = original;
  const Tensor apart = original.clone();
  const Tensor reshaped = original.reshaped({2, 2});
  original.view<float>()[3] = 9;
  EXPECT_EQ(shared.view<float>()[3], 9);
  EXPECT_EQ(reshaped.view<float>()[3], 9);
  EXPECT_EQ(apart.view<float>()[3], 3);
  EXPECT_THROW(static_cast<void>(original.reshaped({3})), Error);
  EXPECT_THROW(static_cast<void>(original.view<double>()), Error);
}

TEST(Tensor, RowsShareTheStorage) {
  Tensor whole(DType::f32, {3, 2});
  for (Index i = 0; i < 6; ++i) whole.view<float>()[i] = static_cast<float>(i);
  Tensor rows = whole.rows({1, 3});
  EXPECT_EQ(rows.shape(), (Shape{2, 2}));
  EXPECT_EQ(rows.view<float>()[0], 2);
  rows.view<float>()[3] = 9;
  EXPECT_EQ(whole.view<float>()[5], 9);
  EXPECT_EQ(whole.rows({3, 3}).size(), 0);
  EXPECT_EQ(Tensor(DType::f32, {2, 0}).rows({1, 2}).shape(), (Shape{1, 0}));
  EXPECT_THROW(static_cast<void>(whole.rows({2, 4})), Error);
  EXPECT_THROW(static_cast<void>(Tensor(DType::f32, {}).rows({0, 1})), Error);
}

/// Small tensors take memory from a pool, large ones do not. Memory of live tensors never overlaps.
TEST(Tensor, MemoryIsAlignedAndNotShared) {
  const Index before = tensor_memory().now;
  std::vector<Tensor> tensors;
  Index bytes = 0;
  for (int round = 0; round < 2; ++round) {  // the second round reuses memory of the first
    for (const Index size : {1, 15, 17, 1000, 16383, 16384, 16385, 100000, 3, 1000}) {
      Tensor& tensor = tensors.emplace_back(DType::f32, Shape{size});
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U) << size;
      for (float& x : tensor.view<float>()) x = static_cast<float>(tensors.size());
      bytes += tensor.bytes();
    }
    EXPECT_EQ(tensor_memory().now - before, bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (const float x : tensors[i].view<float>()) ASSERT_EQ(x, static_cast<float>(i + 1));
    }
    tensors.clear();
    bytes = 0;
    EXPECT_EQ(tensor_memory().now, before);
  }
}

/// All sizes up to three lines of a cache, many tensors at a time.
TEST(Tensor, SmallMemoryIsAligned) {
  std::vector<Tensor> tensors;
  for (Index size = 1; size <= 48; ++size) {
    for (int i = 0; i < 16; ++i) tensors.emplace_back(DType::f32, Shape{size});
  }
  for (const Tensor& tensor : tensors) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0U) << tensor.size();
  }
}

TEST(Tensor, ZerosAreZero) {
  const Tensor t = Tensor::zeros(DType::i32, {7});
  for (const std::int32_t x : t.view<std::int32_t>()) EXPECT_EQ(x, 0);
}

/// All ranges [begin, end) of an extent.
std::vector<Range> ranges_of(Index extent) {
  std::vector<Range> ranges;
  for (Index begin = 0; begin <= extent; ++begin) {
    for (Index end = begin; end <= extent; ++end) ranges.push_back({begin, end});
  }
  return ranges;
}

TEST(Tensor, SliceAndAssignAgreeWithPlainLoops) {
  const Shape shape{3, 2, 4};
  const Tensor whole = counting(shape);
  for (const Range& a : ranges_of(3)) {
    for (const Range& b : ranges_of(2)) {
      for (const Range& c : ranges_of(4)) {
        const Tensor part = whole.slice({a, b, c});
        ASSERT_EQ(part.shape(), (Shape{a.size(), b.size(), c.size()}));
        Tensor target = Tensor::zeros(DType::f32, shape);
        target.assign({a, b, c}, part);
        Index next = 0;
        for (Index i = 0; i < 3; ++i) {
          for (Index j = 0; j < 2; ++j) {
            for (Index k = 0; k < 4; ++k) {
              const bool inside = i >= a.begin && i < a.end && j >= b.begin && j < b.end && k >= c.begin && k < c.end;
              const auto value = static_cast<float>(i * 8 + j * 4 + k);
              if (inside) {
                EXPECT_EQ(part.view<float>()[next++], value);
              }
              EXPECT_EQ(target.view<float>()[i * 8 + j * 4 + k], inside ? value : 0);
            }
          }
        }
      }
    }
  }
}

TEST(Tensor, SliceOfAScalarIsTheScalar) {
  const Tensor scalar = counting({});
  EXPECT_EQ(scalar.slice({}).view<float>()[0], 0);
}

TEST(Tensor, RefusesRangesOutside) {
  Tensor t = counting({3});
  EXPECT_THROW(static_cast<void>(t.slice({{0, 4}})), Error);
  EXPECT_THROW(static_cast<void>(t.slice({{2, 1}})), Error);
  EXPECT_THROW(static_cast<void>(t.slice({{-1, 1}})), Error);
  EXPECT_THROW(static_cast<void>(t.slice({})), Error);
  EXPECT_THROW(t.assign({{0, 2}}, counting({3})), Error);
  EXPECT_THROW(t.assign({{0, 3}}, Tensor(DType::f64, {3})), Error);
}

TEST(Tensor, Converts) {
  Tensor t(DType::f64, {3});
  t.view<double>()[0] = 1.0;
  t.view<double>()[1] = -0.1;
  t.view<double>()[2] = 1.00390625;  // halfway between two bf16 numbers
  const Tensor f32 = t.as(DType::f32);
  const Tensor bf16 = t.as(DType::bf16);
  for (Index i = 0; i < 3; ++i) EXPECT_EQ(f32.view<float>()[i], static_cast<float>(t.view<double>()[i]));
  EXPECT_EQ(bf16.view<BFloat16>()[0].bits, 0x3F80);
  EXPECT_EQ(bf16.view<BFloat16>()[1].bits, 0xBDCD);
  EXPECT_EQ(bf16.view<BFloat16>()[2].bits, 0x3F80);
  EXPECT_EQ(bf16.as(DType::f64).view<double>()[1], static_cast<double>(static_cast<float>(BFloat16(-0.1F))));
  EXPECT_NE(t.as(DType::f64).data(), t.data());
  EXPECT_THROW(static_cast<void>(t.as(DType::i32)), Error);
  EXPECT_THROW(static_cast<void>(Tensor::zeros(DType::i32, {1}).as(DType::f32)), Error);
}

}  // namespace
}  // namespace shardline
