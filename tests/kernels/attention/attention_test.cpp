#include "kernels/attention/attention.h"

#include "runtime/base/check.h"
#include "tests/kernels/attention/attention_places.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::in_order;
using testing::inner_product;
using testing::kGradientTolerance;
using testing::numeric_gradient;
using testing::Places;
using testing::random_array;
using testing::slice;
using testing::unwritten;

template <class T>
class AttentionTest : public ::testing::Test {};
TYPED_TEST_SUITE(AttentionTest, testing::FloatTypes);

template <class T>
struct Result {
  Array<T> o, lse;
};

/// Softmax attention row by row in f64, with the whole row of scores at one time.
template <class T>
Result<double> attend_plainly(const Array<T>& q, const Array<T>& k, const Array<T>& v, const Places& at) {
  const Index T_ = q.shape[1], K = q.shape[2], G = q.shape[3], H = q.shape[4], S = k.shape[1];
  Result<double> result{Array<double>(q.shape),
                        Array<double>({q.shape[0], T_, K, G}, static_cast<double>(std::numeric_limits<T>::lowest()))};
  for (Index row = 0; row < result.lse.size(); ++row) {
    const Index head = row / G % K, t = row / (G * K) % T_, b = row / (G * K * T_);
    const auto key = [&](Index s, Index h) { return ((b * S + s) * K + head) * H + h; };
    std::vector<double> weights;
    std::vector<Index> seen;
    double sum = 0;
    for (Index s = 0; s < S; ++s) {
      if (!at.sees(b, t, s)) continue;
      seen.push_back(s);
      double score = 0;
      for (Index h = 0; h < H; ++h) score += static_cast<double>(q[row * H + h]) * static_cast<double>(k[key(s, h)]);
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(H))));
      sum += weights.back();
    }
    if (weights.empty()) continue;
    result.lse[row] = std::log(sum);
    for (Index h = 0; h < H; ++h) {
      for (std::size_t s = 0; s < weights.size(); ++s) {
        result.o[row * H + h] += weights[s] / sum * static_cast<double>(v[key(seen[s], h)]);
      }
    }
  }
  return result;
}

template <class T>
Result<T> attend(const Array<T>& q, const Array<T>& k, const Array<T>& v, const Places& places) {
  const Shape& s = q.shape;
  Result<T> result{unwritten<T>(s), unwritten<T>({s[0], s[1], s[2], s[3]})};
  attention<T>(q.view(), k.view(), v.view(), places.view(), result.o.view(), result.lse.view());
  return result;
}

struct Case {
  Index B, T, S, K, G, H;
  Index query_begin = 0, key_begin = 0;

  Places places() const { return in_order({query_begin, query_begin + T}, {key_begin, key_begin + S}); }
};

/// A square case, several blocks with odd remainders, keys before and after the queries, and rows without
/// visible keys.
const std::vector<Case> kCases{{2, 5, 5, 2, 3, 4},
                               {1, 300, 300, 1, 2, 8},
                               {1, 1, 1, 1, 1, 1},
                               {1, 40, 200, 2, 1, 8, 160, 0},
                               {1, 200, 40, 1, 1, 8, 0, 160},
                               {1, 140, 150, 1, 2, 6, 100, 90},
                               {2, 6, 5, 1, 2, 4, 0, 9},
                               {1, 130, 270, 1, 1, 3, 7, 0},
                               {2, 100, 100, 2, 3, 20},
                               {1, 600, 600, 1, 1, 5},
                               {1, 70, 400, 1, 7, 33, 330, 5}};

TYPED_TEST(AttentionTest, EqualsItsDefinition) {
  using T = TypeParam;
  for (const Case& c : kCases) {
    const auto q = random_array<T>("q", {c.B, c.T, c.K, c.G, c.H});
    const auto k = random_array<T>("k", {c.B, c.S, c.K, c.H});
    const auto v = random_array<T>("v", {c.B, c.S, c.K, c.H});
    const auto actual = attend(q, k, v, c.places());
    const auto expected = attend_plainly(q, k, v, c.places());
    expect_close(actual.o, expected.o);
    expect_close(actual.lse, expected.lse);
  }
}

TYPED_TEST(AttentionTest, StaysFiniteOnLargeScores) {
  using T = TypeParam;
  auto q = random_array<T>("q", {1, 150, 1, 1, 4});
  auto k = random_array<T>("k", {1, 150, 1, 4});
  for (T& value : q.values) value *= T(100);
  for (T& value : k.values) value *= T(100);
  const auto result = attend(q, k, k, in_order({0, q.shape[1]}, {0, k.shape[1]}));
  for (const T value : result.o.values) ASSERT_TRUE(std::isfinite(value));
  for (const T value : result.lse.values) ASSERT_TRUE(std::isfinite(value));
}

/// The kernel computes several rows at a time. They do not affect each other.
TYPED_TEST(AttentionTest, KeepsANanInItsRow) {
  using T = TypeParam;
  auto q = random_array<T>("q", {1, 40, 1, 2, 8});
  const auto k = random_array<T>("k", {1, 40, 1, 8});
  const Index row = 51;
  q[row * 8 + 3] = std::numeric_limits<T>::quiet_NaN();
  const auto result = attend(q, k, k, in_order({0, q.shape[1]}, {0, k.shape[1]}));
  for (Index i = 0; i < result.o.size(); ++i) ASSERT_EQ(std::isnan(result.o[i]), i / 8 == row) << "element " << i;
  for (Index i = 0; i < result.lse.size(); ++i) ASSERT_EQ(std::isnan(result.lse[i]), i == row) << "row " << i;
}

TYPED_TEST(AttentionTest, TakesEmptyExtents) {
  using T = TypeParam;
  const Case full{2, 3, 3, 2, 2, 4};
  for (Index Case::*extent : {&Case::B, &Case::T, &Case::S, &Case::K, &Case::G, &Case::H}) {
    Case c = full;
    c.*extent = 0;
    const Array<T> q({c.B, c.T, c.K, c.G, c.H}), k({c.B, c.S, c.K, c.H});
    const auto result = attend(q, k, k, in_order({0, q.shape[1]}, {0, k.shape[1]}));
    for (const T value : result.o.values) EXPECT_EQ(value, T(0));
    for (const T value : result.lse.values) EXPECT_TRUE(std::isfinite(value));
    auto dq = unwritten<T>(q.shape), dk = unwritten<T>(k.shape), dv = dk;
    attention_grad<T>(q.view(), k.view(), k.view(), result.o.view(), result.lse.view(), q.view(), c.places().view(),
                      dq.view(), dk.view(), dv.view());
    for (const auto* gradient : {&dq, &dk, &dv}) {
      for (const T value : gradient->values) EXPECT_EQ(value, T(0));
    }
  }
}

template <class T>
struct Gradients {
  Array<T> dq, dk, dv;
};

template <class T>
Gradients<T> attend_grad(const Array<T>& q, const Array<T>& k, const Array<T>& v, const Array<T>& d_o,
                         const Places& places) {
  const auto forward = attend(q, k, v, places);
  Gradients<T> g{unwritten<T>(q.shape), unwritten<T>(k.shape), unwritten<T>(v.shape)};
  attention_grad<T>(q.view(), k.view(), v.view(), forward.o.view(), forward.lse.view(), d_o.view(), places.view(),
                    g.dq.view(), g.dk.view(), g.dv.view());
  return g;
}

TEST(AttentionGradTest, EqualsFiniteDifferences) {
  const std::vector<Case> cases{{2, 5, 5, 2, 2, 4}, {1, 4, 6, 1, 2, 3, 3, 1}, {1, 6, 4, 2, 1, 3, 0, 2}};
  for (const Case& c : cases) {
    auto q = random_array<double>("q", {c.B, c.T, c.K, c.G, c.H});
    auto k = random_array<double>("k", {c.B, c.S, c.K, c.H});
    auto v = random_array<double>("v", {c.B, c.S, c.K, c.H});
    const auto d_o = random_array<double>("do", q.shape);
    const auto gradients = attend_grad(q, k, v, d_o, c.places());
    const auto loss = [&] { return inner_product(attend_plainly(q, k, v, c.places()).o, d_o); };
    expect_close(gradients.dq, numeric_gradient(q, loss), kGradientTolerance);
    expect_close(gradients.dk, numeric_gradient(k, loss), kGradientTolerance);
    expect_close(gradients.dv, numeric_gradient(v, loss), kGradientTolerance);
  }
}

/// The derivative along one random direction of all operands, over several blocks.
TEST(AttentionGradTest, EqualsADirectionalDifferenceAcrossBlocks) {
  for (const Case& c : kCases) {
    const auto q = random_array<double>("q", {c.B, c.T, c.K, c.G, c.H});
    const auto k = random_array<double>("k", {c.B, c.S, c.K, c.H});
    const auto v = random_array<double>("v", {c.B, c.S, c.K, c.H});
    const auto to_q = random_array<double>("to_q", q.shape);
    const auto to_k = random_array<double>("to_k", k.shape);
    const auto to_v = random_array<double>("to_v", v.shape);
    const auto d_o = random_array<double>("do", q.shape);
    const auto gradients = attend_grad(q, k, v, d_o, c.places());
    const auto moved = [](const Array<double>& x, const Array<double>& direction, double step) {
      Array<double> y = x;
      for (Index i = 0; i < x.size(); ++i) y[i] += step * direction[i];
      return y;
    };
    const auto loss = [&](double step) {
      return inner_product(
          attend_plainly(moved(q, to_q, step), moved(k, to_k, step), moved(v, to_v, step), c.places()).o, d_o);
    };
    const double expected = (loss(1e-5) - loss(-1e-5)) / 2e-5;
    const double actual =
        inner_product(gradients.dq, to_q) + inner_product(gradients.dk, to_k) + inner_product(gradients.dv, to_v);
    EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected)));
  }
}

TYPED_TEST(AttentionTest, BlocksOfQueriesGiveTheWhole) {
  using T = TypeParam;
  const auto q = random_array<T>("q", {2, 250, 1, 2, 8});
  const auto k = random_array<T>("k", {2, 250, 1, 8});
  const auto v = random_array<T>("v", {2, 250, 1, 8});
  const auto d_o = random_array<T>("do", q.shape);
  const auto whole = attend(q, k, v, in_order({0, 250}, {0, 250}));
  const auto whole_grad = attend_grad(q, k, v, d_o, in_order({0, 250}, {0, 250}));
  Array<T> dk(k.shape), dv(v.shape);
  for (const Range block : {Range{0, 40}, {40, 40}, {40, 137}, {137, 250}}) {
    const Places places = in_order(block, {0, 250});
    const auto q_block = slice(q, 1, block);
    const auto part = attend(q_block, k, v, places);
    EXPECT_EQ(part.o.values, slice(whole.o, 1, block).values);  // A row's bits do not depend on other rows.
    EXPECT_EQ(part.lse.values, slice(whole.lse, 1, block).values);
    const auto grad = attend_grad(q_block, k, v, slice(d_o, 1, block), places);
    EXPECT_EQ(grad.dq.values, slice(whole_grad.dq, 1, block).values);
    for (Index i = 0; i < dk.size(); ++i) dk[i] += grad.dk[i];
    for (Index i = 0; i < dv.size(); ++i) dv[i] += grad.dv[i];
  }
  expect_close(dk, whole_grad.dk);
  expect_close(dv, whole_grad.dv);
}

TEST(AttentionErrorTest, RefusesShapesThatDisagree) {
  Array<float> q({1, 2, 1, 1, 4}), k({1, 2, 1, 4}), lse({1, 2, 1, 1}), other({1, 2, 2, 4});
  const Places places = in_order({0, 2}, {0, 2});
  const auto attend_to = [&](const Array<float>& x, const Array<float>& y, const Array<float>& z, const Places& at) {
    attention<float>(x.view(), y.view(), z.view(), at.view(), q.view(), lse.view());
  };
  EXPECT_NO_THROW(attend_to(q, k, k, places));
  EXPECT_THROW(attend_to(q, other, other, places), Error);
  EXPECT_THROW(attend_to(q, k, other, places), Error);
  EXPECT_THROW(attend_to(k, k, k, places), Error);
  EXPECT_THROW(attend_to(q, k, k, in_order({0, 3}, {0, 2})), Error);
  EXPECT_THROW(attend_to(q, k, k, in_order({0, 2}, {0, 1})), Error);
  EXPECT_THROW(attend_to(q, k, k, {{0, 1}, {0, 1}, {0, 0, 0, 0}}), Error);
}

TEST(AttentionCostTest, CountsVisiblePairs) {
  const Shape q{2, 3, 2, 2, 8}, k{2, 4, 2, 8};
  // The last queries of 4 tokens see 2, 3 and 4 keys: 9 pairs for each of 8 heads.
  const Cost forward = attention_cost(q, k, {.tokens = 4}, 4);
  EXPECT_EQ(forward.flops, Flops(4 * 9 * 8 * 8));
  EXPECT_EQ(forward.bytes, Bytes(4 * (2 * 192 + 2 * 128 + 24)));
  EXPECT_EQ(forward.parts, 8);  // one for each head
  const Cost backward = attention_grad_cost(q, k, {.tokens = 4}, 4);
  EXPECT_EQ(backward.flops, Flops(10 * 9 * 8 * 8));
  EXPECT_EQ(backward.bytes, Bytes(4 * (4 * 192 + 4 * 128 + 24)));
  EXPECT_EQ(backward.parts, 8);
  EXPECT_EQ(attention_cost({1, 0, 1, 1, 8}, {1, 0, 1, 8}, {.tokens = 0}, 4).flops, Flops(0));
}

/// FLOPs of a pair of a head of 8: 32.
double pairs_of(Index queries, Index keys, const AttentionShare& share) {
  return attention_cost({1, queries, 1, 1, 8}, {1, keys, 1, 8}, share, 4).flops.value / 32;
}

TEST(AttentionCostTest, CountsThePairsOfTheLastQueries) {
  for (const Index tokens : {1, 2, 7, 12}) {
    for (Index queries = 0; queries <= tokens; ++queries) {
      Index pairs = 0;
      for (Index q = tokens - queries; q < tokens; ++q) {
        for (Index k = 0; k < tokens; ++k) pairs += k <= q ? 1 : 0;
      }
      EXPECT_EQ(pairs_of(queries, tokens, {.tokens = tokens}), static_cast<double>(pairs)) << queries << " " << tokens;
    }
  }
}

TEST(AttentionCostTest, BalancedSharesAddUpToTheWhole) {
  const Index whole = 12 * 13 / 2;
  EXPECT_EQ(pairs_of(12, 12, {.tokens = 12, .balanced = true}), whole);
  EXPECT_EQ(pairs_of(12, 12, {.tokens = 12}), whole);
  EXPECT_EQ(3 * pairs_of(4, 12, {.tokens = 12, .balanced = true}), whole);
  EXPECT_EQ(9 * pairs_of(4, 4, {.tokens = 12, .balanced = true}), whole);
  EXPECT_EQ(3 * pairs_of(4, 4, {.tokens = 12}), 9 + 10 + 11 + 12);  // the hops of the last of three ranks
}

}  // namespace
}  // namespace shardline::kernels
