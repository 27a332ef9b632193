#include "models/data/token_order.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "runtime/base/check.h"
#include "runtime/layout/blocks.h"

namespace shardline {
namespace {

constexpr std::array<std::string_view, 3> kOrderNames = {"contiguous", "zigzag", "striped"};

void append_chunk(Range chunk, std::vector<Index>& positions) {
  for (Index position = chunk.begin; position < chunk.end; ++position) positions.push_back(position);
}

}  // namespace

std::string_view name_of(TokenOrder order) { return kOrderNames.at(static_cast<std::size_t>(order)); }

std::string token_order_names() { return fmt::format("{}", fmt::join(kOrderNames, ", ")); }

TokenOrder token_order_named(const std::string& name) {
  const auto* found = std::find(kOrderNames.begin(), kOrderNames.end(), name);
  require(found != kOrderNames.end(), "unknown order of tokens \"{}\"; legal: {}", name, token_order_names());
  return static_cast<TokenOrder>(found - kOrderNames.begin());
}

std::vector<Index> token_positions(TokenOrder order, Index tokens, Index ranks) {
  SHARDLINE_CHECK(tokens >= 0 && ranks >= 1, "positions of {} tokens for {} ranks", tokens, ranks);
  std::vector<Index> positions;
  positions.reserve(static_cast<std::size_t>(tokens));
  switch (order) {
    case TokenOrder::contiguous:
      append_chunk({0, tokens}, positions);
      break;
    case TokenOrder::zigzag:
      for (Index rank = 0; rank < ranks; ++rank) {
        append_chunk(block(tokens, 2 * ranks, rank), positions);
        append_chunk(block(tokens, 2 * ranks, 2 * ranks - 1 - rank), positions);
      }
      break;
    case TokenOrder::striped:
      for (Index rank = 0; rank < ranks; ++rank) {
        for (Index position = rank; position < tokens; position += ranks) positions.push_back(position);
      }
      break;
  }
  return positions;
}

Tensor OrderedData::block(Series series, std::size_t input, Range samples, Range columns, DType dtype) const {
  SHARDLINE_CHECK(dtype == DType::i32, "an order of tokens is for inputs of i32, not {}", name_of(dtype));
  SHARDLINE_CHECK(columns.begin >= 0 && columns.end <= static_cast<Index>(positions_.size()),
                  "columns {} to {} of {} tokens in order", columns.begin, columns.end, positions_.size());
  Tensor ordered(dtype, {samples.size(), columns.size()});
  if (ordered.size() == 0) return ordered;
  const auto first = positions_.begin() + columns.begin;
  const auto [least, most] = std::minmax_element(first, first + columns.size());
  const Range span{*least, *most + 1};  // all that these columns need
  const Tensor whole = data_.block(series, input, samples, span, dtype);
  const auto from = whole.view<std::int32_t>();
  auto next = ordered.view<std::int32_t>().begin();
  for (Index row = 0; row < samples.size(); ++row) {
    for (auto at = first; at != first + columns.size(); ++at) *next++ = from[row * span.size() + *at - span.begin];
  }
  return ordered;
}

}  // namespace shardline
