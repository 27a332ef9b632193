// The order of tokens, compared with the place of each position by a formula of its own.
#include "models/data/token_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "runtime/layout/blocks.h"
#include "tests/models/temporary_folder.h"

namespace shardline {
namespace {

constexpr std::array<TokenOrder, 3> kOrders = {TokenOrder::contiguous, TokenOrder::zigzag, TokenOrder::striped};

/// The chunk of a position, where the first `tokens` mod `parts` of the chunks have one token more than the others.
Index chunk_of(Index position, Index tokens, Index parts) {
  const Index small = tokens / parts;
  const Index large = tokens % parts;
  const Index in_large = large * (small + 1);
  return position < in_large ? position / (small + 1) : large + (position - in_large) / small;
}

/// What sorts the positions: the rank, and the place on it.
std::tuple<Index, Index, Index> place_of(TokenOrder order, Index position, Index tokens, Index ranks) {
  if (order == TokenOrder::contiguous) return {0, 0, position};
  if (order == TokenOrder::striped) return {position % ranks, 0, position};
  const Index chunk = chunk_of(position, tokens, 2 * ranks);
  return {std::min(chunk, 2 * ranks - 1 - chunk), chunk, position};
}

std::vector<Index> counted(Index end) {
  std::vector<Index> all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

TEST(TokenOrder, EveryPositionHasThePlaceOfTheFormula) {
  for (const TokenOrder order : kOrders) {
    for (Index ranks = 1; ranks <= 9; ++ranks) {
      for (Index tokens = 0; tokens <= 70; ++tokens) {
        std::vector<Index> expected = counted(tokens);
        std::sort(expected.begin(), expected.end(), [&](Index a, Index b) {
          return place_of(order, a, tokens, ranks) < place_of(order, b, tokens, ranks);
        });
        ASSERT_EQ(token_positions(order, tokens, ranks), expected)
            << name_of(order) << ", " << tokens << " tokens on " << ranks << " ranks";
      }
    }
  }
}

TEST(TokenOrder, WrittenOut) {
  EXPECT_EQ(token_positions(TokenOrder::zigzag, 8, 2), (std::vector<Index>{0, 1, 6, 7, 2, 3, 4, 5}));
  EXPECT_EQ(token_positions(TokenOrder::zigzag, 9, 2), (std::vector<Index>{0, 1, 2, 7, 8, 3, 4, 5, 6}));
  EXPECT_EQ(token_positions(TokenOrder::zigzag, 3, 4), (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(token_positions(TokenOrder::striped, 7, 3), (std::vector<Index>{0, 3, 6, 1, 4, 2, 5}));
  EXPECT_EQ(token_positions(TokenOrder::striped, 2, 5), (std::vector<Index>{0, 1}));
  for (const TokenOrder order : kOrders) EXPECT_EQ(token_positions(order, 5, 1), counted(5)) << name_of(order);
}

/// The most pairs of a token and one that it sees on a rank, divided by the mean over the ranks.
double imbalance(TokenOrder order, Index tokens, Index ranks) {
  const std::vector<Index> positions = token_positions(order, tokens, ranks);
  double most = 0;
  double sum = 0;
  for (Index rank = 0; rank < ranks; ++rank) {
    double pairs = 0;
    const Range mine = block(tokens, ranks, rank);
    for (Index at = mine.begin; at < mine.end; ++at) {
      pairs += static_cast<double>(positions[static_cast<std::size_t>(at)] + 1);
    }
    most = std::max(most, pairs);
    sum += pairs;
  }
  return most / (sum / static_cast<double>(ranks));
}

TEST(TokenOrder, ZigzagAndStripedShareTheVisiblePairs) {
  for (const Index ranks : {2, 4, 8}) {
    EXPECT_LT(imbalance(TokenOrder::zigzag, 8192, ranks), 1.01) << ranks;
    EXPECT_LT(imbalance(TokenOrder::zigzag, 8191, ranks), 1.01) << ranks << ", a length that chunks do not divide";
    EXPECT_LT(imbalance(TokenOrder::striped, 8192, ranks), 1.01) << ranks;
    EXPECT_NEAR(imbalance(TokenOrder::contiguous, 8192, ranks), 2 - 1 / static_cast<double>(ranks), 0.001) << ranks;
  }
}

/// In a ring all ranks meet one block of keys in each hop, and the slowest decides when the hop ends. Returns the sum
/// over the hops of the most pairs that a rank computes in tiles of 64 x 64, divided by the mean of all ranks.
double imbalance_hop_by_hop(TokenOrder order, Index tokens, Index ranks) {
  constexpr Index kTile = 64;
  const std::vector<Index> positions = token_positions(order, tokens, ranks);
  const auto at = [&](Index i) { return positions[static_cast<std::size_t>(i)]; };
  double lockstep = 0;
  double all = 0;
  for (Index hop = 0; hop < ranks; ++hop) {
    double most = 0;
    for (Index rank = 0; rank < ranks; ++rank) {
      const Range queries = block(tokens, ranks, rank);
      const Range keys = block(tokens, ranks, (rank + ranks - hop) % ranks);
      double tiles = 0;
      for (Index q = queries.begin; q < queries.end; q += kTile) {
        const Index last = at(std::min(q + kTile, queries.end) - 1);
        for (Index k = keys.begin; k < keys.end; k += kTile) tiles += at(k) <= last ? 1 : 0;
      }
      most = std::max(most, tiles);
      all += tiles;
    }
    lockstep += most;
  }
  return lockstep / (all / static_cast<double>(ranks));
}

TEST(TokenOrder, ZigzagIsEvenInEveryHopOfARing) {
  for (const Index ranks : {2, 4, 8}) {
    EXPECT_LT(imbalance_hop_by_hop(TokenOrder::zigzag, 8192, ranks), 1.05) << ranks;
    EXPECT_GT(imbalance_hop_by_hop(TokenOrder::contiguous, 8192, ranks), 1.45) << ranks;
  }
  EXPECT_NEAR(imbalance_hop_by_hop(TokenOrder::contiguous, 8192, 4), 1.74, 0.005);
}

TEST(TokenOrder, Names) {
  for (const TokenOrder order : kOrders) EXPECT_EQ(token_order_named(std::string(name_of(order))), order);
  EXPECT_EQ(usage_error_of([] { token_order_named("ring"); }),
            "unknown order of tokens \"ring\"; legal: contiguous, zigzag, striped");
}

/// Samples whose elements tell input, sample and position.
class Told final : public SampleSource {
 public:
  static std::int32_t at(Series series, std::size_t input, Index sample, Index position) {
    return static_cast<std::int32_t>((series == Series::training ? 0 : 1'000'000) +
                                     static_cast<Index>(input) * 100'000 + sample * 1000 + position);
  }
  Tensor block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const override {
    Tensor block(dtype, {samples.size(), columns.size()});
    auto next = block.view<std::int32_t>().begin();
    for (Index i = samples.begin; i < samples.end; ++i) {
      for (Index c = columns.begin; c < columns.end; ++c) *next++ = at(series, input, i, c);
    }
    return block;
  }
  std::size_t inputs() const override { return 3; }
  Index masked_labels(Series /*series*/, Range samples) const override { return 7 * samples.size(); }
  Index held_out() const override { return 11; }
};

TEST(OrderedData, BlocksOfAllRanksAreTheSampleInItsOrder) {
  const Told told;
  for (const TokenOrder order : kOrders) {
    for (const auto& [tokens, ranks] : {std::pair<Index, Index>{29, 3}, {3, 5}, {16, 1}}) {
      const std::vector<Index> positions = token_positions(order, tokens, ranks);
      const OrderedData data(told, positions);
      for (const Series series : {Series::training, Series::held_out}) {
        for (std::size_t input = 0; input < data.inputs(); ++input) {
          for (Index i = 4; i < 6; ++i) {
            std::vector<std::int32_t> together;
            for (Index rank = 0; rank < ranks; ++rank) {
              const Tensor mine = data.block(series, input, {4, 6}, block(tokens, ranks, rank), DType::i32);
              const Index width = mine.extent(1);
              const auto row = mine.view<std::int32_t>().begin() + (i - 4) * width;
              together.insert(together.end(), row, row + width);
            }
            std::vector<std::int32_t> expected;
            for (const Index position : positions) expected.push_back(Told::at(series, input, i, position));
            ASSERT_EQ(together, expected) << name_of(order) << ", " << tokens << " tokens on " << ranks << " ranks";
          }
        }
      }
    }
  }
}

TEST(OrderedData, AnyColumnsAreTheirPartOfTheSample) {
  const Told told;
  for (const TokenOrder order : kOrders) {
    const std::vector<Index> positions = token_positions(order, 13, 3);
    const OrderedData data(told, positions);
    for (Index begin = 0; begin <= 13; ++begin) {
      for (Index end = begin; end <= 13; ++end) {
        const Tensor part = data.block(Series::training, 1, {2, 3}, {begin, end}, DType::i32);
        std::vector<std::int32_t> expected;
        for (Index at = begin; at < end; ++at) {
          expected.push_back(Told::at(Series::training, 1, 2, positions[static_cast<std::size_t>(at)]));
        }
        const auto view = part.view<std::int32_t>();
        ASSERT_EQ(std::vector<std::int32_t>(view.begin(), view.end()), expected) << name_of(order);
      }
    }
  }
}

TEST(OrderedData, TheRestIsThatOfTheOtherSource) {
  const Told told;
  const OrderedData data(told, token_positions(TokenOrder::zigzag, 16, 2));
  EXPECT_EQ(data.inputs(), 3U);
  EXPECT_EQ(data.held_out(), 11);
  EXPECT_EQ(data.masked_labels(Series::training, {2, 5}), 21);
}

}  // namespace
}  // namespace shardline
