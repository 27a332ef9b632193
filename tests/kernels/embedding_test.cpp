#include "kernels/embedding.h"

#include <limits>

#include "kernels/pick_rows.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
class EmbeddingTest : public ::testing::Test {};
TYPED_TEST_SUITE(EmbeddingTest, testing::FloatTypes);

constexpr Index kVocabulary = 11;

Array<std::int32_t> random_ids(Shape shape) {
  Array<std::int32_t> ids(std::move(shape));
  const CounterRng rng(5, "ids");
  for (Index i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(rng.below(i, kVocabulary));
  return ids;
}

TYPED_TEST(EmbeddingTest, CopiesTheRowOfEveryToken) {
  using T = TypeParam;
  const auto table = random_array<T>("table", {kVocabulary, 5});
  const auto ids = random_ids({3, 4});
  auto out = unwritten<T>({3, 4, 5});
  embed<T>(table.view(), ids.view(), {0, kVocabulary}, out.view());
  for (Index i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], table[ids[i / 5] * 5 + i % 5]);
}

TYPED_TEST(EmbeddingTest, GradientSumsTheTokensOfEveryRow) {
  using T = TypeParam;
  const auto ids = random_ids({30});
  const auto dx = random_array<T>("dx", {30, 5});
  auto dtable = unwritten<T>({kVocabulary, 5});
  embed_grad<T>(dx.view(), ids.view(), {0, kVocabulary}, dtable.view());
  Array<T> expected({kVocabulary, 5});
  for (Index i = 0; i < dx.size(); ++i) expected[ids[i / 5] * 5 + i % 5] += dx[i];
  for (Index i = 0; i < expected.size(); ++i) EXPECT_EQ(dtable[i], expected[i]);
}

TYPED_TEST(EmbeddingTest, BlocksOfTheVocabularyGiveTheWhole) {
  using T = TypeParam;
  const auto table = random_array<T>("table", {kVocabulary, 5});
  const auto ids = random_ids({12});
  const auto dx = random_array<T>("dx", {12, 5});
  auto whole = unwritten<T>({12, 5}), whole_grad = unwritten<T>(table.shape);
  embed<T>(table.view(), ids.view(), {0, kVocabulary}, whole.view());
  embed_grad<T>(dx.view(), ids.view(), {0, kVocabulary}, whole_grad.view());
  Array<T> sum({12, 5});
  for (const Range rows : {Range{0, 6}, {6, 6}, {6, kVocabulary}}) {
    const auto block = slice(table, 0, rows);
    auto part = unwritten<T>({12, 5}), grad = unwritten<T>(block.shape);
    embed<T>(block.view(), ids.view(), rows, part.view());
    for (Index i = 0; i < sum.size(); ++i) sum[i] += part[i];
    embed_grad<T>(dx.view(), ids.view(), rows, grad.view());
    expect_close(grad, slice(whole_grad, 0, rows), 0);
  }
  expect_close(sum, whole, 0);
}

TYPED_TEST(EmbeddingTest, TakesEmptyExtents) {
  using T = TypeParam;
  const Array<std::int32_t> ids({2}), none({0});
  Array<T> out({2, 0});
  embed<T>({nullptr, {3, 0}}, ids.view(), {0, 3}, out.view());
  embed_grad<T>({nullptr, {2, 0}}, ids.view(), {0, 3}, {nullptr, {3, 0}});
  embed<T>({nullptr, {0, 3}}, none.view(), {2, 2}, {nullptr, {0, 3}});
  auto table = unwritten<T>({2, 3});
  embed_grad<T>({nullptr, {0, 3}}, none.view(), {0, 2}, table.view());
  for (const T value : table.values) EXPECT_EQ(value, T(0));
}

TEST(EmbeddingErrorTest, RefusesATableThatIsNotItsRange) {
  Array<float> table({3, 2}), out({4, 2});
  const Array<std::int32_t> ids({4});
  EXPECT_THROW(embed<float>(table.view(), ids.view(), {0, 4}, out.view()), Error);
  EXPECT_THROW(embed<float>(out.view(), ids.view(), {0, 4}, table.view()), Error);
}

TEST(EmbeddingCostTest, CountsTheRowsItTouches) {
  EXPECT_EQ(embed_cost(10, 8, 4).bytes, Bytes(2 * 320 + 40));
  EXPECT_EQ(embed_grad_cost(10, 100, 8, 4).bytes, Bytes(110 * 32 + 40));
  EXPECT_EQ(embed_grad_cost(10, 100, 8, 4).flops, Flops(80));
}

/// The rows that nobody wants are not read.
TEST(PickRows, TakesTheWantedRowOfEachSequence) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x{nan, nan, 1, 2, nan, nan, 3, 4, nan, nan, nan, nan};  // [3, 2, 2]
  const std::vector<std::int32_t> wanted{0, 1, 0, 1, 0, 0};
  std::vector<double> out(6, nan);
  kernels::pick_rows<double>({x.data(), {3, 2, 2}}, {wanted.data(), {3, 2}}, {out.data(), {3, 2}});
  EXPECT_EQ(out, (std::vector<double>{1, 2, 3, 4, 0, 0})) << "the last sequence wants none";
  EXPECT_THROW(kernels::pick_rows<double>({x.data(), {3, 2, 2}}, {wanted.data(), {2, 3}}, {out.data(), {3, 2}}), Error);
}

}  // namespace
}  // namespace shardline::kernels
