#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/cache_places.h"
#include "kernels/support/lanes.h"
#include "kernels/support/row_products.h"
#include "kernels/support/weighted_rows.h"

/// How attention over a cache is cut: a block of queries meets the places that it sees block by block. Only
/// cache_attention.cpp includes this header.
namespace shardline::kernels {

/// Places of which a block of queries has scores at a time. They are read in parts of kRowsAtOnce, each for all heads,
/// so that a cache is read in the order in which it lies.
inline constexpr Index kPlaceBlock = 64;
static_assert(kPlaceBlock % kRowsAtOnce == 0 && kPlaceBlock % kLanes == 0);

struct CacheExtents {
  Index B = 0, T = 0, S = 0, K = 0, G = 0, H = 0;
};

/// Neighbouring queries of one sequence.
struct CacheQueries {
  Index b = 0;
  Range t;
};

/// Buffers for a block of queries. A row is one query of one head. The rows of a key-value head are neighbours: query
/// by query, those of its G heads together. Rows of H elements are packed (see packed_rows.h).
template <class T>
class CacheBlocks {
 public:
  using Sum = SumOf<T>;

  CacheBlocks(const CacheExtents& extents, const CachePlaces& places)
      : e_(extents), order_("attention over a cache", places, e_.B, e_.T, e_.S), width_(packed_length(e_.H)) {
    const Index heads = std::max<Index>(1, e_.K * e_.G), rows = std::min(kRows, kElements / std::max<Index>(1, width_));
    most_ = std::clamp<Index>(rows / heads, 1, std::max<Index>(1, e_.T));
    const auto room = [&](Index of_row) { return static_cast<std::size_t>(most_ * e_.K * e_.G * of_row); };
    queries_.resize(room(width_));
    values_.resize(room(width_));
    scores_.resize(room(kPlaceBlock));
    largest_.resize(room(1));
    sum_.resize(room(1));
  }

  /// All blocks of queries: for (q = first(); enter(q); q = next(q)).
  CacheQueries first() const { return {0, {0, std::min(most_, e_.T)}}; }
  CacheQueries next(const CacheQueries& now) const {
    if (now.t.end == e_.T) return {now.b + 1, first().t};
    return {now.b, {now.t.end, std::min(e_.T, now.t.end + most_)}};
  }
  /// Makes these queries the block. False if there are no more.
  bool enter(const CacheQueries& now) {
    if (now.b >= e_.B || now.t.size() == 0) return false;
    now_ = now;
    seen_.clear();
    for (Index t = now.t.begin; t < now.t.end; ++t) seen_.push_back(order_.seen(now.b, t));
    return true;
  }

  void take_queries(const T* q) {
    for_each_row(
        [&](Index row, Index place) { pack_row<T>(q + place * e_.H, 1, e_.H, queries_.data() + row * width_); });
  }
  /// Rows that have met no place.
  void clear() {
    std::fill(values_.begin(), values_.end(), Sum(0));
    std::fill(sum_.begin(), sum_.end(), Sum(0));
    std::fill(largest_.begin(), largest_.end(), std::numeric_limits<Sum>::lowest());
  }

  /// Calls body(numbers) for the blocks of places that some query sees.
  template <class Body>
  void for_each_block(Body&& body) const {
    const Index limit = *std::max_element(seen_.begin(), seen_.end());
    for (Index n = 0; n < limit; n += kPlaceBlock) body(Range{n, std::min(limit, n + kPlaceBlock)});
  }
  /// Calls body(row, place of the row in [B, T, K, G]) for all rows.
  template <class Body>
  void for_each_row(Body&& body) const {
    for (Index row = 0; row < e_.K * head_rows(); ++row) body(row, row_place(row));
  }
  /// Calls body(row, seen) for the rows that see some of these places: the first `seen` of them.
  template <class Body>
  void for_each_row(Range numbers, Body&& body) const {
    for (Index row = 0; row < e_.K * head_rows(); ++row) {
      if (const Index seen = seen_of(row % head_rows() / e_.G, numbers); seen > 0) body(row, seen);
    }
  }

  /// The scores of all rows for these places. Those that a row does not see have no meaning.
  void score(const T* k, Range numbers) {
    for_each_part(k, numbers, [&](Range part, std::array<const T*, kRowsAtOnce>& rows, Index ahead) {
      const Range seeing = seeing_queries(part.begin);
      for (Index head = 0; head < e_.K; ++head) {
        const Index row = head * head_rows() + seeing.begin * e_.G;
        run_with_vectors(RowProducts<T>{.x = queries_.data() + row * width_,
                                        .x_row = width_,
                                        .x_rows = seeing.size() * e_.G,
                                        .rows = rows.data(),
                                        .count = part.size(),
                                        .length = e_.H,
                                        .sums = scores(row) + (part.begin - numbers.begin),
                                        .sums_row = kPlaceBlock,
                                        .ahead = ahead});
        for (const T*& pointer : rows) pointer += e_.H;
      }
    });
    const auto scale = static_cast<Sum>(1 / std::sqrt(static_cast<double>(e_.H)));
    for_each_row(numbers, [&](Index row, Index /*seen*/) {
      Sum* const of_row = scores(row);
      for (Index s = 0; s < kPlaceBlock; ++s) of_row[s] *= scale;
    });
  }

  /// Adds the values of these places to those of all rows; `scores` hold the weights.
  void weigh(const T* v, Range numbers) {
    for_each_part(v, numbers, [&](Range part, std::array<const T*, kRowsAtOnce>& rows, Index ahead) {
      for (Index head = 0; head < e_.K; ++head) {
        for_each_run(part, [&](Range run, Index seen) {
          const Index row = head * head_rows() + run.begin * e_.G;
          run_with_vectors(WeightedRows<T, Sum>{.weights = scores(row) + (part.begin - numbers.begin),
                                                .weights_row = kPlaceBlock,
                                                .c_rows = run.size() * e_.G,
                                                .rows = rows.data(),
                                                .count = seen,
                                                .length = e_.H,
                                                .c = values(row),
                                                .c_row = width_,
                                                .ahead = ahead});
        });
        for (const T*& pointer : rows) pointer += e_.H;
      }
    });
  }

  Index place(Index number) const { return order_.place(number); }
  Index width() const { return width_; }
  Index row_place(Index row) const {
    const Index head = row / head_rows(), of_head = row % head_rows();
    const Index t = now_.t.begin + of_head / e_.G;
    return ((now_.b * e_.T + t) * e_.K + head) * e_.G + of_head % e_.G;
  }
  Sum* scores(Index row) { return scores_.data() + row * kPlaceBlock; }
  Sum* values(Index row) { return values_.data() + row * width_; }
  Sum& largest(Index row) { return largest_[static_cast<std::size_t>(row)]; }
  Sum& sum(Index row) { return sum_[static_cast<std::size_t>(row)]; }
  /// The values of a row as arrays have them.
  void copy_values(Index row, Sum* to) {
    unpack_row<T>(values(row), e_.H, [&](Index h, Sum value) { to[h] = value; });
  }

 private:
  /// Rows of a block, and elements of their queries: these and the sums of values stay in the L2 cache.
  static constexpr Index kRows = 512, kElements = Index{1} << 15;

  Index head_rows() const { return now_.t.size() * e_.G; }
  /// How many of these places a query of the block sees.
  Index seen_of(Index query, Range numbers) const {
    return std::clamp<Index>(seen_[static_cast<std::size_t>(query)] - numbers.begin, 0, numbers.size());
  }
  /// The queries from the first to the last that see this place.
  Range seeing_queries(Index number) const {
    Range queries{0, now_.t.size()};
    const auto sees = [&](Index query) { return seen_[static_cast<std::size_t>(query)] > number; };
    while (!sees(queries.begin)) ++queries.begin;
    while (!sees(queries.end - 1)) --queries.end;
    return queries;
  }

  /// Calls body(queries, seen) for neighbouring queries that see as many of these places, if any.
  template <class Body>
  void for_each_run(Range part, Body&& body) const {
    for (Index begin = 0, end = 0; begin < now_.t.size(); begin = end) {
      const Index seen = seen_of(begin, part);
      while (end < now_.t.size() && seen_of(end, part) == seen) ++end;
      if (seen > 0) body(Range{begin, end}, seen);
    }
  }

  /// Calls body(part, rows, ahead) for parts of these places; `rows` are those of the first head. Beyond the part they
  /// repeat its last row. `ahead` leads to the same row of the next part.
  template <class Body>
  void for_each_part(const T* cache, Range numbers, Body&& body) const {
    const Index row = e_.K * e_.H, ahead = order_.in_order() ? kRowsAtOnce * row : 0;
    std::array<const T*, kRowsAtOnce> rows;
    for (Index begin = numbers.begin; begin < numbers.end; begin += kRowsAtOnce) {
      const Range part{begin, std::min(numbers.end, begin + kRowsAtOnce)};
      for (Index i = 0; i < kRowsAtOnce; ++i) {
        const Index number = std::min(begin + i, part.end - 1);
        rows[static_cast<std::size_t>(i)] = cache + (now_.b * e_.S + order_.place(number)) * row;
      }
      body(part, rows, ahead);
    }
  }

  CacheExtents e_;
  PlaceOrder order_;
  Index width_;
  Index most_ = 1;  ///< queries of a block
  CacheQueries now_;
  std::vector<Index> seen_;  ///< places that each query of the block sees
  std::vector<Packed<T>> queries_;
  std::vector<Sum> values_, scores_, largest_, sum_;
};

}  // namespace shardline::kernels
