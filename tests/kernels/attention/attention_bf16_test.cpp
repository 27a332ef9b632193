#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/attention/attention.h"
#include "tests/kernels/attention/attention_places.h"
#include "tests/kernels/support.h"

/// Attention on bf16. The oracle computes in f64 from the same numbers, so only the rounding of each result and
/// the noise of f32 lie between the two.
namespace shardline::kernels {
namespace {

using testing::Array;
using testing::expect_close;
using testing::in_order;
using testing::Places;
using testing::random_array;
using testing::slice;
using testing::unwritten;

using Narrow = Array<BFloat16>;

Narrow random_narrow(std::string_view name, const Shape& shape) {
  const auto wide = random_array<float>(name, shape);
  Narrow narrow(shape);
  for (Index i = 0; i < narrow.size(); ++i) narrow[i] = BFloat16(wide[i]);
  return narrow;
}

Narrow unwritten_narrow(const Shape& shape) { return Narrow(shape, BFloat16(std::numeric_limits<float>::quiet_NaN())); }

double wide(BFloat16 value) { return static_cast<double>(static_cast<float>(value)); }

/// Expects `exact` rounded once, to 8 binary digits, after sums in f32. The error of rounding is at most half of
/// the last digit.
void expect_rounded_once(const Narrow& actual, const Array<double>& exact) {
  ASSERT_EQ(actual.size(), exact.size());
  double largest = 0;
  for (const double value : exact.values) largest = std::max(largest, std::abs(value));
  for (Index i = 0; i < actual.size(); ++i) {
    const double rounding = std::ldexp(1.0, std::ilogb(std::max(std::abs(exact[i]), 1e-300)) - 8);
    const double allowed = rounding + 5e-6 * largest;
    ASSERT_LE(std::abs(wide(actual[i]) - exact[i]), allowed) << "element " << i << " of " << to_string(actual.shape);
  }
}

struct Operands {
  Narrow q, k, v, d_o;
  Places at;
};

Operands random_operands(const Shape& q, Index keys, const Places& at) {
  const Shape k{q[0], keys, q[2], q[4]};
  return {random_narrow("q", q), random_narrow("k", k), random_narrow("v", k), random_narrow("do", q), at};
}

struct Results {
  Narrow o;
  Array<float> lse;
  Narrow dq, dk, dv;
};

Results attend(const Operands& x) {
  const Shape& q = x.q.shape;
  Results y{unwritten_narrow(q), unwritten<float>({q[0], q[1], q[2], q[3]}), unwritten_narrow(q),
            unwritten_narrow(x.k.shape), unwritten_narrow(x.k.shape)};
  attention<BFloat16>(x.q.view(), x.k.view(), x.v.view(), x.at.view(), y.o.view(), y.lse.view());
  attention_grad<BFloat16>(x.q.view(), x.k.view(), x.v.view(), std::as_const(y.o).view(), std::as_const(y.lse).view(),
                           x.d_o.view(), x.at.view(), y.dq.view(), y.dk.view(), y.dv.view());
  return y;
}

struct Exact {
  Array<double> o, lse, dq, dk, dv;
};

/// One pair of query and key at a time, in f64. The gradients are those for the given, rounded `o` and `lse`.
Exact attend_exactly(const Operands& x, const Narrow& o, const Array<float>& lse) {
  const Shape& q = x.q.shape;
  const Index T = q[1], K = q[2], G = q[3], H = q[4], S = x.k.shape[1];
  Exact y{Array<double>(q), Array<double>(lse.shape, static_cast<double>(std::numeric_limits<float>::lowest())),
          Array<double>(q), Array<double>(x.k.shape), Array<double>(x.k.shape)};
  const double scale = 1 / std::sqrt(static_cast<double>(H));
  for (Index row = 0; row < lse.size(); ++row) {
    const Index head = row / G % K, t = row / (G * K) % T, b = row / (G * K * T);
    bool blind = true;
    double sum = 0, delta = 0;
    for (Index h = 0; h < H; ++h) delta += wide(o[row * H + h]) * wide(x.d_o[row * H + h]);
    for (Index s = 0; s < S; ++s) {
      if (!x.at.sees(b, t, s)) continue;
      blind = false;
      const Index key = ((b * S + s) * K + head) * H;
      double score = 0, product = 0;
      for (Index h = 0; h < H; ++h) {
        score += wide(x.q[row * H + h]) * wide(x.k[key + h]) * scale;
        product += wide(x.d_o[row * H + h]) * wide(x.v[key + h]);
      }
      const double weight = std::exp(score), probability = std::exp(score - static_cast<double>(lse[row]));
      const double d_score = probability * (product - delta) * scale;
      sum += weight;
      for (Index h = 0; h < H; ++h) {
        y.o[row * H + h] += weight * wide(x.v[key + h]);
        y.dq[row * H + h] += d_score * wide(x.k[key + h]);
        y.dk[key + h] += d_score * wide(x.q[row * H + h]);
        y.dv[key + h] += probability * wide(x.d_o[row * H + h]);
      }
    }
    if (blind) continue;
    y.lse[row] = std::log(sum);
    for (Index h = 0; h < H; ++h) y.o[row * H + h] /= sum;
  }
  return y;
}

TEST(AttentionBf16Test, RoundsEveryResultOnce) {
  struct Case {
    Shape q;
    Index keys;
    Index query_begin = 0, key_begin = 0;
  };
  // Grouped heads; several blocks of keys and of rows; blocks of keys and queries that begin anywhere; rows without
  // keys.
  const std::vector<Case> cases{{{2, 5, 2, 3, 4}, 5},
                                {{1, 700, 1, 1, 8}, 700},
                                {{1, 300, 2, 2, 20}, 300},
                                {{1, 40, 2, 1, 16}, 200, 160, 0},
                                {{1, 200, 1, 1, 8}, 40, 0, 160},
                                {{1, 30, 1, 7, 33}, 450, 420, 5},
                                {{2, 6, 1, 2, 4}, 5, 0, 9},
                                {{1, 1, 1, 1, 1}, 1}};
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.q));
    const Range queries{c.query_begin, c.query_begin + c.q[1]}, keys{c.key_begin, c.key_begin + c.keys};
    const Operands x = random_operands(c.q, c.keys, in_order(queries, keys));
    const Results actual = attend(x);
    const Exact exact = attend_exactly(x, actual.o, actual.lse);
    expect_rounded_once(actual.o, exact.o);
    expect_close(actual.lse, exact.lse);
    expect_rounded_once(actual.dq, exact.dq);
    expect_rounded_once(actual.dk, exact.dk);
    expect_rounded_once(actual.dv, exact.dv);
  }
}

TEST(AttentionBf16Test, BlocksOfQueriesGiveTheSameBits) {
  const Operands x = random_operands({2, 250, 1, 2, 8}, 250, in_order({0, 250}, {0, 250}));
  const Results whole = attend(x);
  for (const Range block : {Range{0, 40}, {40, 40}, {40, 137}, {137, 250}}) {
    const Results part = attend({slice(x.q, 1, block), x.k, x.v, slice(x.d_o, 1, block), in_order(block, {0, 250})});
    EXPECT_EQ(part.o.values, slice(whole.o, 1, block).values);
    EXPECT_EQ(part.lse.values, slice(whole.lse, 1, block).values);
    EXPECT_EQ(part.dq.values, slice(whole.dq, 1, block).values);
  }
}

TEST(AttentionBf16Test, TakesEmptyExtents) {
  for (std::size_t dim = 0; dim < 6; ++dim) {  // The last one is that of keys.
    Shape extents{2, 3, 2, 2, 4, 3};
    extents[dim] = 0;
    const Places places = in_order({0, extents[1]}, {0, extents[5]});
    const Results result = attend(random_operands({extents.begin(), extents.begin() + 5}, extents[5], places));
    for (const auto* array : {&result.o, &result.dq, &result.dk, &result.dv}) {
      for (const BFloat16 value : array->values) EXPECT_EQ(wide(value), 0);
    }
    for (const float value : result.lse.values) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(AttentionBf16Test, CostsTwoBytesForEachElementAndFourForLse) {
  const Shape q{2, 3, 2, 2, 8}, k{2, 4, 2, 8};
  EXPECT_EQ(attention_cost(q, k, {.tokens = 4}, 2).bytes, Bytes(2 * (2 * 192 + 2 * 128) + 4 * 24));
  EXPECT_EQ(attention_grad_cost(q, k, {.tokens = 4}, 2).bytes, Bytes(2 * (4 * 192 + 4 * 128) + 4 * 24));
  EXPECT_EQ(attention_cost(q, k, {.tokens = 4}, 8).bytes, Bytes(8 * (2 * 192 + 2 * 128 + 24)));
}

}  // namespace
}  // namespace shardline::kernels
