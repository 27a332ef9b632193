#include <algorithm>
#include <string>
#include <utility>

#include "tests/kernels/attention/attention_plain.h"

/// Attention on tokens in any order and on packed documents, against a test of every pair.
namespace shardline::kernels {
namespace {

using testing::Array;
using testing::attend_pair_by_pair;
using testing::AttentionResult;
using testing::expect_close;
using testing::numbers;
using testing::Places;
using testing::random_array;
using testing::unwritten;

using Order = std::vector<std::int32_t>;

/// Tokens laid out rank after rank: rank r has the pieces r and 2p - 1 - r of 2p pieces.
Order zigzag(Index tokens, Index ranks) {
  Order order;
  const auto append = [&](Index piece) {
    for (Index t = piece * tokens / (2 * ranks); t < (piece + 1) * tokens / (2 * ranks); ++t) {
      order.push_back(static_cast<std::int32_t>(t));
    }
  };
  for (Index r = 0; r < ranks; ++r) {
    append(r);
    append(2 * ranks - 1 - r);
  }
  return order;
}

/// Rank r has the tokens r, r + p, r + 2p, ...
Order striped(Index tokens, Index ranks) {
  Order order;
  for (Index r = 0; r < ranks; ++r) {
    for (Index t = r; t < tokens; t += ranks) order.push_back(static_cast<std::int32_t>(t));
  }
  return order;
}

Order shuffled(Index tokens, std::string_view name) {
  Order order = numbers({0, tokens});
  const CounterRng rng(3, name);
  for (Index i = tokens - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(rng.below(i, i + 1))]);
  }
  return order;
}

std::vector<Order> orders(Index tokens) {
  Order reversed = numbers({0, tokens});
  std::reverse(reversed.begin(), reversed.end());
  std::vector<Order> all{numbers({0, tokens}), reversed, shuffled(tokens, "a"), shuffled(tokens, "b")};
  for (const Index ranks : {2, 3, 4}) {
    all.push_back(zigzag(tokens, ranks));
    all.push_back(striped(tokens, ranks));
  }
  return all;
}

/// The begin of the document of each query, by sequence. Sequence b has documents of lengths[b], and then again.
std::vector<std::int32_t> starts_of(const std::vector<std::vector<Index>>& lengths, const Order& queries) {
  std::vector<std::int32_t> starts;
  for (const std::vector<Index>& of_sequence : lengths) {
    for (const std::int32_t position : queries) {
      Index begin = 0;
      for (std::size_t d = 0; begin + of_sequence[d % of_sequence.size()] <= position; ++d) {
        begin += of_sequence[d % of_sequence.size()];
      }
      starts.push_back(static_cast<std::int32_t>(begin));
    }
  }
  return starts;
}

/// Long documents and short ones, down to one token.
const std::vector<std::vector<std::vector<Index>>> kDocuments{
    {{1}, {1, 2, 3}}, {{60, 1, 1, 100}, {7, 13}}, {{200}, {1000}}, {{97, 96, 3}, {192, 12}}};

template <class T>
struct Arrays {
  Array<T> q, k, v, d_o;

  /// B, T, K, G and H, and S keys.
  Arrays(const Shape& query, Index keys)
      : q(random_array<T>("q", query)),
        k(random_array<T>("k", {query[0], keys, query[2], query[4]})),
        v(random_array<T>("v", k.shape)),
        d_o(random_array<T>("do", query)) {}
};

template <class T>
AttentionResult<T> attend(const Arrays<T>& x, const Places& places) {
  const Shape& s = x.q.shape;
  AttentionResult<T> y{unwritten<T>(s), unwritten<T>({s[0], s[1], s[2], s[3]}), unwritten<T>(s),
                       unwritten<T>(x.k.shape), unwritten<T>(x.k.shape)};
  attention<T>(x.q.view(), x.k.view(), x.v.view(), places.view(), y.o.view(), y.lse.view());
  attention_grad<T>(x.q.view(), x.k.view(), x.v.view(), std::as_const(y.o).view(), std::as_const(y.lse).view(),
                    x.d_o.view(), places.view(), y.dq.view(), y.dk.view(), y.dv.view());
  return y;
}

template <class T>
void expect_right(const Arrays<T>& x, const Places& places) {
  const AttentionResult<T> actual = attend(x, places);
  const AttentionResult<double> expected = attend_pair_by_pair(x.q, x.k, x.v, x.d_o, places);
  expect_close(actual.o, expected.o);
  expect_close(actual.lse, expected.lse);
  constexpr double kTolerance = std::is_same_v<T, float> ? 1e-4 : 1e-11;
  expect_close(actual.dq, expected.dq, kTolerance);
  expect_close(actual.dk, expected.dk, kTolerance);
  expect_close(actual.dv, expected.dv, kTolerance);
}

template <class T>
class AttentionOrderTest : public ::testing::Test {};
TYPED_TEST_SUITE(AttentionOrderTest, testing::FloatTypes);

TYPED_TEST(AttentionOrderTest, WholeSequencesInAnyOrder) {
  const Index tokens = 220;
  const Arrays<TypeParam> x({2, tokens, 1, 2, 5}, tokens);
  for (const Order& order : orders(tokens)) expect_right(x, {order, order});
  const Order shuffle = shuffled(tokens, "other");
  for (const auto& documents : kDocuments) {
    for (const Order& order : {numbers({0, tokens}), zigzag(tokens, 3), shuffle}) {
      expect_right(x, {order, order, starts_of(documents, order)});
    }
  }
  expect_right(x, {zigzag(tokens, 2), shuffle, starts_of(kDocuments[1], zigzag(tokens, 2))});
}

/// What a rank of a ring does: its own queries against the keys of each rank.
TYPED_TEST(AttentionOrderTest, BlocksOfAnOrder) {
  const Index tokens = 150, ranks = 3;
  const Arrays<TypeParam> x({2, tokens / ranks, 1, 3, 4}, tokens / ranks);
  for (const Order& order : orders(tokens)) {
    const auto block = [&](Index rank) {
      const auto begin = order.begin() + rank * tokens / ranks;
      return Order(begin, begin + tokens / ranks);
    };
    for (Index rank = 0; rank < ranks; ++rank) {
      for (Index other = 0; other < ranks; ++other) {
        expect_right(x, {block(rank), block(other)});
        expect_right(x, {block(rank), block(other), starts_of(kDocuments[1], block(rank))});
      }
    }
  }
}

/// Positions that leave gaps, come twice, or see nothing; begins that fit no document.
TYPED_TEST(AttentionOrderTest, PositionsOfNoOrder) {
  const Arrays<TypeParam> x({2, 6, 2, 1, 3}, 5);
  expect_right(x, {{1000000, 3, 3, 0, 70, 5}, {3, 900000, 3, 5, 4}});
  expect_right(x, {{1000000, 3, 3, 0, 70, 5}, {3, 900000, 3, 5, 4}, {9, 3, 4, 0, 5, 5, 900000, 0, 0, 0, 71, 4}});
  expect_right(x, {{2, 2, 1, 0, 1, 2}, {3, 3, 4, 5, 6}});
}

TYPED_TEST(AttentionOrderTest, TheOrderChangesNoBit) {
  using T = TypeParam;
  const Index tokens = 430;
  const Arrays<T> x({2, tokens, 1, 2, 8}, tokens);
  for (const bool packed : {false, true}) {
    const auto starts = [&](const Order& order) {
      return packed ? starts_of(kDocuments[1], order) : std::vector<std::int32_t>{};
    };
    const Order in_order = numbers({0, tokens});
    const AttentionResult<T> expected = attend(x, {in_order, in_order, starts(in_order)});
    for (const Order& order : orders(tokens)) {
      const auto laid = [&](const Array<T>& array) {
        Array<T> result(array.shape);
        const Index row = array.size() / (2 * tokens);
        for (Index i = 0; i < array.size(); ++i) {
          const Index t = i / row % tokens;
          result[i] = array[i + (order[static_cast<std::size_t>(t)] - t) * row];
        }
        return result;
      };
      Arrays<T> moved = x;
      for (Array<T> Arrays<T>::*array : {&Arrays<T>::q, &Arrays<T>::k, &Arrays<T>::v, &Arrays<T>::d_o}) {
        moved.*array = laid(x.*array);
      }
      const AttentionResult<T> actual = attend(moved, {order, order, starts(order)});
      EXPECT_EQ(actual.o.values, laid(expected.o).values);
      EXPECT_EQ(actual.lse.values, laid(expected.lse).values);
      EXPECT_EQ(actual.dq.values, laid(expected.dq).values);
      EXPECT_EQ(actual.dk.values, laid(expected.dk).values);
      EXPECT_EQ(actual.dv.values, laid(expected.dv).values);
    }
  }
}

}  // namespace
}  // namespace shardline::kernels
