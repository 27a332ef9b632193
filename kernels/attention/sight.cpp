#include "kernels/attention/sight.h"

#include <algorithm>
#include <numeric>

#include "kernels/attention/blocks.h"

namespace shardline::kernels {
namespace {

/// The numbers of `positions` in ascending order. Of equal positions the first comes first.
std::vector<Index> ascending(View<const std::int32_t> positions) {
  std::vector<Index> order(static_cast<std::size_t>(positions.size()));
  std::iota(order.begin(), order.end(), Index{0});
  if (!std::is_sorted(positions.begin(), positions.end())) {
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return positions[a] < positions[b]; });
  }
  return order;
}

}  // namespace

Sight::Sight(const AttentionPlaces& places, Index B, Index T, Index S) : places_(places) {
  check_attention_shape("query_positions", places.query_positions.shape, {T});
  check_attention_shape("key_positions", places.key_positions.shape, {S});
  if (!places.starts.shape.empty()) check_attention_shape("starts", places.starts.shape, {B, T});
  queries_ = ascending(places.query_positions);
  keys_ = ascending(places.key_positions);
  for (const Index key : keys_) key_positions_.push_back(places.key_positions[key]);
  seen_.resize(queries_.size());
  for (std::size_t q = 0; q < seen_.size(); ++q) {
    const auto end =
        std::upper_bound(key_positions_.begin(), key_positions_.end(), places.query_positions[queries_[q]]);
    seen_[q] = {0, end - key_positions_.begin()};
  }
  note_order();
  if (B > 0) enter(0);
}

void Sight::enter(Index b) {
  if (places_.starts.shape.empty()) return;
  const std::int32_t* starts = places_.starts.data + b * places_.starts.shape[1];
  for (std::size_t q = 0; q < seen_.size(); ++q) {
    const auto begin = std::lower_bound(key_positions_.begin(), key_positions_.end(), starts[queries_[q]]);
    seen_[q].begin = begin - key_positions_.begin();
  }
  note_order();
}

void Sight::note_order() {
  const auto falls = [](const Range& a, const Range& b) { return b.begin < a.begin || b.end < a.end; };
  ascends_ = std::adjacent_find(seen_.begin(), seen_.end(), falls) == seen_.end();
}

Index Sight::end_of_stretch(Index number, Index end) const {
  Index next = number + 1;
  while (next < end && key(next) == key(next - 1) + 1) ++next;
  return next;
}

Range Sight::seen(Index query, Range keys) const {
  const Range& all = seen_[static_cast<std::size_t>(query)];
  const Range some{std::max(all.begin, keys.begin), std::min(all.end, keys.end)};
  return some.size() > 0 ? some : Range{};
}

Range Sight::seen(Range queries, Range keys) const {
  if (queries.size() <= 0) return {};
  if (ascends_) {
    const Index begin = std::max(seen_[static_cast<std::size_t>(queries.begin)].begin, keys.begin);
    const Index end = std::min(seen_[static_cast<std::size_t>(queries.end - 1)].end, keys.end);
    return begin < end ? Range{begin, end} : Range{};
  }
  Range hull;
  for (Index q = queries.begin; q < queries.end; ++q) {
    const Range some = seen(q, keys);
    if (some.size() == 0) continue;
    hull = hull.size() == 0 ? some : Range{std::min(hull.begin, some.begin), std::max(hull.end, some.end)};
  }
  return hull;
}

Range Sight::seeing(Range queries, Range keys) const {
  Index begin = queries.begin, end = queries.end;
  while (begin < end && seen(begin, keys).size() == 0) ++begin;
  while (begin < end && seen(end - 1, keys).size() == 0) --end;
  return begin < end ? Range{begin, end} : Range{};
}

}  // namespace shardline::kernels
