#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/attention/attention.h"

namespace shardline::kernels::testing {

/// Positions of queries and keys, and the begins of documents, that own their memory.
struct Places {
  std::vector<std::int32_t> queries;
  std::vector<std::int32_t> keys;
  std::vector<std::int32_t> starts = {};  ///< by sequence and query; empty if every document begins at 0

  AttentionPlaces view() const {
    const auto count = [](const auto& values) { return static_cast<Index>(values.size()); };
    const Index sequences = queries.empty() ? 0 : count(starts) / count(queries);
    AttentionPlaces places{.query_positions = {queries.data(), {count(queries)}},
                           .key_positions = {keys.data(), {count(keys)}}};
    if (!starts.empty()) places.starts = {starts.data(), {sequences, count(queries)}};
    return places;
  }

  /// The rule itself, for one pair.
  bool sees(Index sequence, Index query, Index key) const {
    const auto t = static_cast<std::size_t>(query);
    const std::size_t row = static_cast<std::size_t>(sequence) * queries.size() + t;
    const std::int32_t start = starts.empty() ? 0 : starts.at(row), at = keys.at(static_cast<std::size_t>(key));
    return start <= at && at <= queries.at(t);
  }
};

inline std::vector<std::int32_t> numbers(Range range) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(range.size()));
  std::iota(values.begin(), values.end(), static_cast<std::int32_t>(range.begin));
  return values;
}

/// Neighbouring queries and keys of one document.
inline Places in_order(Range queries, Range keys) { return {numbers(queries), numbers(keys)}; }

}  // namespace shardline::kernels::testing
