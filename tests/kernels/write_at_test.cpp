// Values written into a cache at their positions. The oracle is a search for every token. Values are whole numbers.
#include "kernels/write_at.h"

#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;

using Positions = std::vector<std::int32_t>;

template <class T>
Array<T> counted(const Shape& shape, float first) {
  Array<T> array(shape);
  for (Index i = 0; i < array.size(); ++i) array[i] = static_cast<T>(first + static_cast<float>(i));
  return array;
}

template <class T>
void check(const Shape& cache_shape, Index T_, const Positions& at, const Positions& where) {
  const Index B = cache_shape[0], S = cache_shape[1], row = cache_shape[2] * cache_shape[3];
  auto cache = counted<T>(cache_shape, 100);
  const auto values = counted<T>({B, T_, cache_shape[2], cache_shape[3]}, 1);
  Array<T> expected = cache;
  for (Index i = 0; i < B * T_; ++i) {
    for (Index s = 0; s < S; ++s) {
      const std::int32_t position = at[static_cast<std::size_t>(i)];
      if (position < 0 || where[static_cast<std::size_t>(s)] != position) continue;
      for (Index j = 0; j < row; ++j) expected[(i / T_ * S + s) * row + j] = values[i * row + j];
    }
  }
  write_at<T>(cache.view(), values.view(), {{at.data(), {B, T_}}, {where.data(), {S}}});
  for (Index i = 0; i < cache.size(); ++i) ASSERT_EQ(cache[i], expected[i]) << "element " << i;
}

template <class T>
class WriteAtTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(WriteAtTest, Types);

TYPED_TEST(WriteAtTest, EqualsASearchForEveryToken) {
  using T = TypeParam;
  const Positions at{2, 3, 0, -1, -1, 5};  // the last is beyond the first cache
  check<T>({2, 5, 1, 3}, 3, at, {0, 1, 2, 3, 4});
  check<T>({2, 5, 2, 2}, 3, at, {4, 2, 0, 1, 3});
  check<T>({2, 3, 1, 3}, 3, at, {1, 3, 5});
  check<T>({2, 3, 1, 3}, 3, at, {5, 2, 9});
  check<T>({3, 4, 1, 1}, 1, {3, -1, 0}, {0, 1, 2, 3});
  check<T>({2, 0, 1, 1}, 3, at, {});
  check<T>({2, 2, 0, 1}, 3, at, {0, 1});
  check<T>({2, 2, 1, 1}, 0, {}, {0, 1});
}

TEST(WriteAtTests, NamesShapesThatDisagree) {
  Array<float> cache({2, 3, 1, 4});
  const Array<float> values({2, 1, 1, 4}), other({2, 1, 2, 4});
  const Positions at{0, 1}, where{0, 1, 2};
  const CachePlaces places{{at.data(), {2, 1}}, {where.data(), {3}}}, fewer{{at.data(), {2, 1}}, {where.data(), {2}}};
  EXPECT_THROW(write_at<float>(cache.view(), other.view(), places), Error);
  EXPECT_THROW(write_at<float>(cache.view(), values.view(), fewer), Error);
  EXPECT_NO_THROW(write_at<float>(cache.view(), values.view(), places));
}

TEST(WriteAtTests, CostCountsWhatIsWritten) {
  EXPECT_EQ(write_at_cost({2, 3, 4, 5}, 0.25, 2).bytes, Bytes(2 * 0.25 * 120 * 2));
}

}  // namespace
}  // namespace shardline::kernels
