#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "tests/kernels/attention/attention_plain.h"

/// Attention over keys that come block by block, against a test of every pair.
namespace shardline::kernels {
namespace {

using testing::Array;
using testing::attend_pair_by_pair;
using testing::AttentionResult;
using testing::numbers;
using testing::Places;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
struct Arrays {
  Array<T> q, k, v, d_o;
};

/// B, T, K, G and H, and S keys, with scores up to `spread` times as large.
template <class T>
Arrays<T> random_arrays(const Shape& query, Index keys, double spread = 1) {
  const auto made = [](const char* name, const Shape& shape, double factor) {
    const Array<double> wide = random_array<double>(name, shape);
    Array<T> result(shape);
    for (Index i = 0; i < wide.size(); ++i) result[i] = T(static_cast<float>(factor * wide[i]));
    return result;
  };
  const Shape key{query[0], keys, query[2], query[4]};
  return {made("q", query, spread), made("k", key, 1), made("v", key, 1), made("do", query, 1)};
}

/// The places of the same queries, but only of the keys of `block`.
Places of_keys(const Places& places, Range block) {
  return {places.queries, {places.keys.begin() + block.begin, places.keys.begin() + block.end}, places.starts};
}

/// What the visits of `blocks` of keys, one after the other, give. Gradients are in the type of sums.
template <class T>
struct Visited {
  Array<T> o;
  Array<SumOf<T>> lse, dq, dk, dv;
};

template <class T>
Visited<T> visit(const Arrays<T>& x, const Places& places, const std::vector<Range>& blocks) {
  using Sum = SumOf<T>;
  const Shape& s = x.q.shape;
  const Shape rows{s[0], s[1], s[2], s[3]};
  Array<Sum> o = unwritten<Sum>(s), largest = unwritten<Sum>(rows), sum = largest;
  const AttentionState<T> state{o.view(), largest.view(), sum.view()};
  attention_begin(state);
  for (const Range block : blocks) {
    const Array<T> k = slice(x.k, 1, block), v = slice(x.v, 1, block);
    attention_visit<T>(x.q.view(), k.view(), v.view(), of_keys(places, block).view(), state);
  }
  Visited<T> y{Array<T>(s), unwritten<Sum>(rows), Array<Sum>(s), Array<Sum>(x.k.shape), Array<Sum>(x.k.shape)};
  attention_finish(state, y.o.view(), y.lse.view());
  for (const Range block : blocks) {
    const Array<T> k = slice(x.k, 1, block), v = slice(x.v, 1, block);
    Array<Sum> dk(k.shape, Sum(2)), dv(k.shape, Sum(3));  // visits add to what is there
    attention_grad_visit<T>(x.q.view(), k.view(), v.view(), std::as_const(y.o).view(), std::as_const(y.lse).view(),
                            x.d_o.view(), of_keys(places, block).view(), y.dq.view(), dk.view(), dv.view());
    const Index row = element_count({s[2], s[4]});
    for (Index i = 0; i < dk.size(); ++i) {
      const Index b = i / (block.size() * row);
      const Index at = i + b * (x.k.shape[1] - block.size()) * row + block.begin * row;
      y.dk[at] = dk[i] - Sum(2);
      y.dv[at] = dv[i] - Sum(3);
    }
  }
  return y;
}

/// Expects differences within `tolerance` of the largest expected magnitude.
template <class T>
void expect_near(const Array<T>& actual, const Array<double>& expected, double tolerance, const std::string& what) {
  using Sum = SumOf<T>;
  double largest = 1e-300;
  for (const double value : expected.values) largest = std::max(largest, std::abs(value));
  ASSERT_EQ(actual.size(), expected.size());
  for (Index i = 0; i < actual.size(); ++i) {
    const auto value = static_cast<double>(static_cast<Sum>(actual[i]));
    ASSERT_LE(std::abs(value - expected[i]), tolerance * largest)
        << what << " " << i << ": " << value << " against " << expected[i];
  }
}

/// The gradients of bf16 follow from the rounded o.
template <class T>
constexpr double kTolerance = std::is_same_v<T, double>  ? 1e-12
                              : std::is_same_v<T, float> ? 2e-5
                                                         : 0.02;

template <class T>
void expect_right(const Arrays<T>& x, const Places& places, const std::vector<Range>& blocks) {
  const Visited<T> actual = visit(x, places, blocks);
  const AttentionResult<double> expected = attend_pair_by_pair(x.q, x.k, x.v, x.d_o, places);
  expect_near(actual.o, expected.o, kTolerance<T>, "o");
  expect_near(actual.lse, expected.lse, std::is_same_v<T, double> ? 1e-12 : 2e-5, "lse");
  expect_near(actual.dq, expected.dq, 5 * kTolerance<T>, "dq");
  expect_near(actual.dk, expected.dk, 5 * kTolerance<T>, "dk");
  expect_near(actual.dv, expected.dv, 5 * kTolerance<T>, "dv");
}

template <class T>
class AttentionVisitTest : public ::testing::Test {};
using StoredTypes = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(AttentionVisitTest, StoredTypes);

/// Tokens in an order with runs up and down, and documents of one to four tokens in one of two sequences.
const Places kSmall{{4, 5, 0, 1, 3, 2}, {2, 3, 0, 5, 4, 1}, {4, 4, 0, 0, 0, 0, 4, 5, 0, 0, 2, 2}};

TYPED_TEST(AttentionVisitTest, EverySplitOfTheKeys) {
  const Index keys = 6;
  const auto x = random_arrays<TypeParam>({2, keys, 2, 2, 3}, keys);
  for (unsigned cuts = 0; cuts < 1U << (keys - 1U); ++cuts) {
    std::vector<Range> blocks{{0, 0}};
    for (Index s = 1; s <= keys; ++s) {
      if (s == keys || (cuts >> (s - 1) & 1U) != 0) blocks.push_back({blocks.back().end, s});
    }
    expect_right(x, kSmall, blocks);
    expect_right(x, {kSmall.queries, kSmall.keys}, blocks);
    std::reverse(blocks.begin(), blocks.end());
    expect_right(x, kSmall, blocks);
  }
}

TYPED_TEST(AttentionVisitTest, LargeBlocksInEveryOrder) {
  const Index tokens = 420;
  const auto x = random_arrays<TypeParam>({1, tokens, 1, 2, 5}, tokens, 3);
  std::vector<std::int32_t> zigzag = numbers({0, 105});
  for (const Range piece : {Range{315, 420}, {105, 210}, {210, 315}}) {
    for (const std::int32_t position : numbers(piece)) zigzag.push_back(position);
  }
  const std::vector<Range> blocks{{210, 420}, {0, 7}, {7, 210}};
  for (const auto& order : {numbers({0, tokens}), zigzag}) {
    Places places{order, order};
    expect_right(x, places, blocks);
    for (const std::int32_t position : order) places.starts.push_back(position < 100 ? 0 : position / 50 * 50);
    expect_right(x, places, blocks);
  }
}

/// Scores that grow from block to block by far more than an exponential can hold.
TYPED_TEST(AttentionVisitTest, RescalesToLargerScores) {
  auto x = random_arrays<TypeParam>({1, 4, 1, 1, 2}, 4);
  for (Index t = 0; t < 4; ++t) {
    for (Index h = 0; h < 2; ++h) {
      x.q[t * 2 + h] = TypeParam(8.0F);
      x.k[t * 2 + h] = TypeParam(static_cast<float>(t));
    }
  }
  const Places places{numbers({0, 4}), numbers({0, 4})};
  const AttentionResult<double> expected = attend_pair_by_pair(x.q, x.k, x.v, x.d_o, places);
  const std::vector<Range> blocks{{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  for (const auto& order : {blocks, std::vector<Range>(blocks.rbegin(), blocks.rend())}) {
    const Visited<TypeParam> actual = visit(x, places, order);
    expect_near(actual.o, expected.o, kTolerance<TypeParam>, "o");
    expect_near(actual.lse, expected.lse, std::is_same_v<TypeParam, double> ? 1e-12 : 2e-5, "lse");
  }
}

/// Rows that see no key give zeros and no NaN, in some visits and in all.
TYPED_TEST(AttentionVisitTest, RowsWithoutKeys) {
  const auto x = random_arrays<TypeParam>({1, 3, 1, 2, 4}, 3);
  expect_right(x, {{0, 1, 9}, {5, 2, 7}}, {{0, 1}, {1, 3}});
  expect_right(x, {{0, 1, 2}, {5, 3, 7}}, {{0, 1}, {1, 3}});
  expect_right(x, {{0, 1, 2}, {0, 1, 2}}, {{2, 3}, {0, 2}});
  expect_right(random_arrays<TypeParam>({1, 3, 1, 2, 4}, 0), {{0, 1, 2}, {}}, {{0, 0}});
  expect_right(random_arrays<TypeParam>({1, 0, 1, 2, 4}, 3), {{}, {0, 1, 2}}, {{0, 1}, {1, 3}});
}

TEST(AttentionVisitErrorTest, RefusesShapesThatDisagree) {
  Array<float> q({1, 2, 1, 1, 4}), k({1, 2, 1, 4}), rows({1, 2, 1, 1}), other({1, 3, 1, 1});
  const Places places{{0, 1}, {0, 1}};
  const auto visit_to = [&](Array<float>& o, Array<float>& largest, Array<float>& sum) {
    attention_visit<float>(q.view(), k.view(), k.view(), places.view(), {o.view(), largest.view(), sum.view()});
  };
  EXPECT_NO_THROW(visit_to(q, rows, rows));
  EXPECT_THROW(visit_to(k, rows, rows), Error);
  EXPECT_THROW(visit_to(q, other, rows), Error);
  EXPECT_THROW(visit_to(q, rows, other), Error);
  EXPECT_THROW(attention_begin<float>({q.view(), other.view(), rows.view()}), Error);
  EXPECT_THROW(attention_finish<float>({q.view(), rows.view(), rows.view()}, q.view(), other.view()), Error);
  EXPECT_THROW(attention_grad_visit<float>(q.view(), k.view(), k.view(), q.view(), rows.view(), q.view(), places.view(),
                                           q.view(), k.view(), q.view()),
               Error);
}

}  // namespace
}  // namespace shardline::kernels
