// Attention over a cache. The oracle is the rule, pair by pair, in f64. What no query sees is NaN.
#include "kernels/attention/cache_attention.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kernels/attention/attention.h"
#include "runtime/base/check.h"
#include "tests/kernels/support.h"

namespace shardline::kernels {
namespace {

using testing::Array;
using testing::random_array;
using testing::unwritten;

using Positions = std::vector<std::int32_t>;

struct Extents {
  Index B, T, S, K, G, H;

  Shape queries() const { return {B, T, K, G, H}; }
  Shape rows() const { return {B, T, K, G}; }
  Shape cache() const { return {B, S, K, H}; }
};

/// Positions that own their memory.
struct Places {
  Shape shape;  ///< [B, T]
  Positions at, where;

  CachePlaces view() const { return {{at.data(), shape}, {where.data(), {static_cast<Index>(where.size())}}}; }
  bool sees(Index b, Index t, Index s) const {
    const std::int32_t position = at[static_cast<std::size_t>(b * shape[1] + t)];
    return position >= 0 && where[static_cast<std::size_t>(s)] <= position;
  }
};

Positions numbers(Index count) {
  Positions values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

/// 0, 7, 14, ... modulo `count`: every position once, if 7 does not divide it.
Positions mixed(Index count) {
  Positions values;
  for (Index i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>(i * 7 % std::max<Index>(1, count)));
  return values;
}

/// Chunks of new tokens behind texts of different lengths. The last tokens of some sequences are missing.
Places chunks(const Extents& e, Positions where) {
  Places places{{e.B, e.T}, {}, std::move(where)};
  for (Index b = 0; b < e.B; ++b) {
    const Index length = (b * 5 + 3) * 11 % std::max<Index>(1, e.S - e.T + 1), tokens = b % 3 == 2 ? e.T / 2 : e.T;
    for (Index t = 0; t < e.T; ++t) places.at.push_back(static_cast<std::int32_t>(t < tokens ? length + t : -1));
  }
  return places;
}

template <class T>
double wide(T value) {
  return static_cast<double>(static_cast<SumOf<T>>(value));
}

template <class T>
Array<T> made(std::string_view name, const Shape& shape) {
  Array<T> array(shape);
  const auto values = random_array<float>(name, shape);
  for (Index i = 0; i < array.size(); ++i) array[i] = static_cast<T>(values[i]);
  return array;
}

/// A cache that holds NaN where no query of the sequence sees it.
template <class T>
Array<T> made_cache(std::string_view name, const Extents& e, const Places& places) {
  Array<T> cache = made<T>(name, e.cache());
  const Index row = e.K * e.H;
  for (Index b = 0; b < e.B; ++b) {
    for (Index s = 0; s < e.S; ++s) {
      bool seen = false;
      for (Index t = 0; t < e.T; ++t) seen = seen || places.sees(b, t, s);
      if (!seen)
        std::fill_n(cache.values.begin() + (b * e.S + s) * row, row, T(std::numeric_limits<float>::quiet_NaN()));
    }
  }
  return cache;
}

template <class T>
Array<double> attend_plainly(const Extents& e, const Array<T>& q, const Array<T>& k, const Array<T>& v,
                             const Places& places) {
  Array<double> o(e.queries());
  for (Index row = 0; row < element_count(e.rows()); ++row) {
    const Index head = row / e.G % e.K, t = row / (e.G * e.K) % e.T, b = row / (e.G * e.K * e.T);
    std::vector<double> scores(static_cast<std::size_t>(e.S), std::numeric_limits<double>::lowest());
    for (Index s = 0; s < e.S; ++s) {
      if (!places.sees(b, t, s)) continue;
      double product = 0;
      for (Index h = 0; h < e.H; ++h)
        product += wide(q[row * e.H + h]) * wide(k[((b * e.S + s) * e.K + head) * e.H + h]);
      scores[static_cast<std::size_t>(s)] = product / std::sqrt(static_cast<double>(e.H));
    }
    double sum = 0;
    for (Index s = 0; s < e.S; ++s) {
      if (!places.sees(b, t, s)) continue;
      const double largest = *std::max_element(scores.begin(), scores.end());
      const double weight = std::exp(scores[static_cast<std::size_t>(s)] - largest);
      sum += weight;
      for (Index h = 0; h < e.H; ++h) o[row * e.H + h] += weight * wide(v[((b * e.S + s) * e.K + head) * e.H + h]);
    }
    for (Index h = 0; h < e.H; ++h) o[row * e.H + h] = sum == 0 ? 0 : o[row * e.H + h] / sum;
  }
  return o;
}

/// Values are of the size of 1. A result in bf16 may also be off by its own rounding.
template <class T>
void expect_equal(const Array<T>& actual, const Array<double>& exact) {
  const double noise = std::is_same_v<T, double> ? 1e-12 : 2e-5, rounding = std::is_same_v<T, BFloat16> ? 0x1p-8 : 0;
  for (Index i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(wide(actual[i]), exact[i], noise + rounding * std::abs(exact[i])) << "element " << i;
  }
}

template <class T>
Array<T> attend(const Extents& e, const Array<T>& q, const Array<T>& k, const Array<T>& v, const Places& places) {
  Array<T> o(e.queries(), T(std::numeric_limits<float>::quiet_NaN()));
  cache_attention<T>(q.view(), k.view(), v.view(), places.view(), o.view());
  return o;
}

/// The positions s of the places with s % count == rank, or those of a range of them: what a rank holds.
template <class T>
struct Held {
  Array<T> k, v;
  Places places;
};

template <class T>
Held<T> held_by(const Extents& e, const Array<T>& k, const Array<T>& v, const Places& places,
                const std::vector<Index>& held) {
  Extents part = e;
  part.S = static_cast<Index>(held.size());
  Held<T> mine{Array<T>(part.cache()), Array<T>(part.cache()), {places.shape, places.at, {}}};
  const Index row = e.K * e.H;
  for (const Index s : held) mine.places.where.push_back(places.where[static_cast<std::size_t>(s)]);
  for (Index b = 0; b < e.B; ++b) {
    for (Index i = 0; i < part.S; ++i) {
      const Index from = (b * e.S + held[static_cast<std::size_t>(i)]) * row, to = (b * part.S + i) * row;
      std::copy_n(k.values.begin() + from, row, mine.k.values.begin() + to);
      std::copy_n(v.values.begin() + from, row, mine.v.values.begin() + to);
    }
  }
  return mine;
}

/// The three phases on ranks that hold these places each.
template <class T>
Array<T> attend_by_ranks(const Extents& e, const Array<T>& q, const Array<T>& k, const Array<T>& v,
                         const Places& places, const std::vector<std::vector<Index>>& ranks) {
  using Sum = SumOf<T>;
  std::vector<Held<T>> all;
  std::vector<Array<Sum>> scores;
  Array<Sum> largest(e.rows(), std::numeric_limits<Sum>::lowest()), w(e.queries()), sum(e.rows());
  for (const std::vector<Index>& rank : ranks) {
    all.push_back(held_by(e, k, v, places, rank));
    Held<T>& mine = all.back();
    scores.push_back(unwritten<Sum>({e.B, e.T, e.K, e.G, mine.k.shape[1]}));
    auto max = unwritten<Sum>(e.rows());
    cache_scores<T>(q.view(), mine.k.view(), mine.places.view(), scores.back().view(), max.view());
    for (Index i = 0; i < max.size(); ++i) largest[i] = std::max(largest[i], max[i]);
    for (Index i = 0; i < scores.back().size(); ++i) {
      const Index S = mine.k.shape[1], t = i / (S * e.G * e.K) % e.T, b = i / (S * e.G * e.K * e.T);
      EXPECT_EQ(std::isnan(scores.back()[i]), !mine.places.sees(b, t, i % S)) << "score " << i;
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    auto part = unwritten<Sum>(e.queries()), of_weights = unwritten<Sum>(e.rows());
    cache_weigh<T>(std::as_const(scores[r]).view(), all[r].v.view(), std::as_const(largest).view(),
                   all[r].places.view(), part.view(), of_weights.view());
    for (Index i = 0; i < w.size(); ++i) w[i] += part[i];
    for (Index i = 0; i < sum.size(); ++i) sum[i] += of_weights[i];
  }
  Array<T> o(e.queries(), T(std::numeric_limits<float>::quiet_NaN()));
  cache_divide<T>(std::as_const(w).view(), std::as_const(sum).view(), o.view());
  return o;
}

/// Ranks with every third place each, and ranks with neighbouring places, one of them without any.
std::vector<std::vector<std::vector<Index>>> ways_to_share(Index places) {
  std::vector<std::vector<Index>> striped(3), blocks(3);
  for (Index s = 0; s < places; ++s) {
    striped[static_cast<std::size_t>(s % 3)].push_back(s);
    blocks[s < places / 2 ? 0 : 2].push_back(s);
  }
  return {striped, blocks};
}

/// One token and chunks; one group and several; blocks of places with remainders; H of less, more and no whole block.
const std::vector<Extents> kCases{
    {3, 1, 40, 2, 4, 64},  {1, 1, 200, 3, 1, 33}, {4, 1, 65, 1, 2, 32},  {1, 1, 1, 1, 1, 1},    {6, 5, 30, 2, 3, 7},
    {2, 1, 150, 2, 8, 16}, {3, 20, 90, 1, 1, 40}, {1, 70, 100, 2, 5, 8}, {2, 9, 17, 1, 12, 20}, {1, 300, 300, 4, 1, 5},
    {2, 3, 129, 1, 7, 96}, {1, 1, 64, 1, 6, 128}, {1, 2, 16, 2, 16, 3},
};

template <class T>
class CacheAttentionTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, BFloat16>;
TYPED_TEST_SUITE(CacheAttentionTest, Types);

TYPED_TEST(CacheAttentionTest, EqualsItsDefinitionInAnyOrderAndByRanks) {
  using T = TypeParam;
  for (const Extents& e : kCases) {
    for (const Positions& where : {numbers(e.S), mixed(e.S)}) {
      SCOPED_TRACE(to_string(e.queries()) + " over " + to_string(e.cache()));
      const Places places = chunks(e, where);
      const auto q = made<T>("q", e.queries());
      const auto k = made_cache<T>("k", e, places), v = made_cache<T>("v", e, places);
      const auto exact = attend_plainly(e, q, k, v, places);
      expect_equal(attend(e, q, k, v, places), exact);
      for (const auto& ranks : ways_to_share(e.S)) expect_equal(attend_by_ranks(e, q, k, v, places, ranks), exact);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// A query's result has the same bits alone, and with a NaN in each place that only the others see.
TYPED_TEST(CacheAttentionTest, QueriesDoNotReadWhatOnlyOthersSee) {
  using T = TypeParam;
  for (const Extents& e : {Extents{1, 40, 150, 2, 1, 40}, {1, 20, 90, 1, 3, 32}}) {
    const Places places = chunks(e, numbers(e.S));
    const auto q = made<T>("q", e.queries());
    const auto k = made_cache<T>("k", e, places), v = made_cache<T>("v", e, places);
    const auto together = attend(e, q, k, v, places);
    const Index row = e.K * e.H, wide_row = row * e.G;
    for (const Index t : {Index{0}, Index{7}, e.T - 1}) {
      Extents one = e;
      one.T = 1;
      const Places alone{{1, 1}, {places.at[static_cast<std::size_t>(t)]}, places.where};
      Array<T> query(one.queries());
      std::copy_n(q.values.begin() + t * wide_row, wide_row, query.values.begin());
      const auto mine = attend(one, query, k, v, alone);
      EXPECT_EQ(std::memcmp(mine.values.data(), together.values.data() + t * wide_row, wide_row * sizeof(T)), 0) << t;
      Array<T> bad_k = k, bad_v = v;
      const auto nan = T(std::numeric_limits<float>::quiet_NaN());
      const Index seen = alone.at[0] + 1;
      std::fill(bad_k.values.begin() + seen * row, bad_k.values.end(), nan);
      std::fill(bad_v.values.begin() + seen * row, bad_v.values.end(), nan);
      const auto beside = attend(e, q, bad_k, bad_v, places);
      EXPECT_EQ(std::memcmp(beside.values.data() + t * wide_row, mine.values.data(), wide_row * sizeof(T)), 0) << t;
    }
  }
}

TYPED_TEST(CacheAttentionTest, TakesEmptyExtentsAndQueriesWithoutPlaces) {
  using T = TypeParam;
  const Extents full{2, 3, 4, 2, 2, 4};
  std::vector<Extents> cases{full};
  for (Index Extents::*extent : {&Extents::B, &Extents::T, &Extents::S, &Extents::K, &Extents::G, &Extents::H}) {
    cases.push_back(full);
    cases.back().*extent = 0;
  }
  for (const Extents& e : cases) {
    Places places = chunks(e, numbers(e.S));
    std::fill(places.at.begin(), places.at.end(), -1);
    const auto q = made<T>("q", e.queries());
    const Array<T> cache(e.cache(), T(std::numeric_limits<float>::quiet_NaN()));
    for (const T value : attend(e, q, cache, cache, places).values) EXPECT_EQ(wide(value), 0);
    const auto ranks = ways_to_share(e.S);
    for (const T value : attend_by_ranks(e, q, cache, cache, places, ranks[0]).values) EXPECT_EQ(wide(value), 0);
  }
}

/// Two kernels that share no code: a whole sequence, and its last tokens over a cache of all.
TEST(CacheAttentionTests, EqualsAttentionOfTheWholeSequence) {
  const Extents e{2, 50, 50, 2, 3, 24};
  const auto q = random_array<double>("q", e.queries());
  const auto k = random_array<double>("k", e.cache()), v = random_array<double>("v", e.cache());
  Array<double> whole(e.queries()), lse(e.rows());
  const Positions where = numbers(e.S);
  attention<double>(q.view(), k.view(), v.view(), {{where.data(), {e.T}}, {where.data(), {e.S}}}, whole.view(),
                    lse.view());
  Places places{{e.B, e.T}, {}, where};
  for (Index i = 0; i < e.B * e.T; ++i) places.at.push_back(static_cast<std::int32_t>(i % e.T));
  testing::expect_close(attend(e, q, k, v, places), whole);
}

TEST(CacheAttentionTests, StaysFiniteOnLargeScores) {
  const Extents e{1, 2, 150, 1, 2, 8};
  Places places{{1, 2}, {70, 149}, numbers(e.S)};
  auto q = random_array<float>("q", e.queries()), k = random_array<float>("k", e.cache());
  for (float& value : q.values) value *= 100;
  for (float& value : k.values) value *= 100;
  const auto o = attend(e, q, k, k, places);
  expect_equal(o, attend_plainly(e, q, k, k, places));
}

/// Expects an Error that names this.
template <class Body>
void expect_error(Body&& body, const std::string& named) {
  try {
    body();
    ADD_FAILURE() << "no error names " << named;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(named), std::string::npos) << error.what();
  }
}

TEST(CacheAttentionTests, NamesShapesThatDisagree) {
  const Extents e{2, 3, 6, 2, 2, 4};
  const Places places = chunks(e, numbers(e.S)), fewer = chunks({1, 3, 6, 2, 2, 4}, numbers(3));
  const Array<float> q(e.queries()), k(e.cache()), other({2, 6, 2, 5});
  Array<float> o(e.queries()), rows(e.rows()), s({2, 3, 2, 2, 6});
  const auto attend_over = [&](const Array<float>& keys, const Array<float>& values, const Places& at) {
    cache_attention<float>(q.view(), keys.view(), values.view(), at.view(), o.view());
  };
  expect_error([&] { attend_over(other, k, places); }, "differ in B, K or H");
  expect_error([&] { attend_over(k, other, places); }, "v has shape [2, 6, 2, 5]");
  expect_error([&] { attend_over(k, k, fewer); }, "positions of queries have shape [1, 3], not [2, 3]");
  expect_error([&] { attend_over(k, k, {places.shape, places.at, fewer.where}); }, "positions of places");
  expect_error([&] { cache_scores<float>(q.view(), k.view(), places.view(), o.view(), rows.view()); }, "s has shape");
  expect_error([&] { cache_scores<float>(q.view(), k.view(), places.view(), s.view(), s.view()); }, "max has shape");
  expect_error([&] { cache_divide<float>(o.view(), s.view(), o.view()); }, "sum has shape");
}

TEST(CacheAttentionTests, CostCountsSeenPlacesOnce) {
  const Cost cost = cache_attention_cost({2, 1, 3, 4, 8}, {2, 100, 3, 8}, 0.5, 2);
  EXPECT_EQ(cost.flops, Flops(4 * 8 * (2 * 3 * 4) * 50));
  EXPECT_EQ(cost.bytes, Bytes(2 * (2 * 2 * 3 * 4 * 8 + 2 * 2 * 50 * 3 * 8)));
}

}  // namespace
}  // namespace shardline::kernels
