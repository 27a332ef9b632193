#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/support/packed_rows.h"
#include "kernels/support/vectors.h"

/// Sums of rows from memory under several sets of weights. Each row is read once. A sum has the same bits, however many
/// others are made with it. Only kernel sources include this header.
namespace shardline::kernels {

/// Rows from memory of one call at most.
inline constexpr Index kWeightedAtOnce = 64;

/// c[i] += the sum of weights[i, r] times row r, in the order of the rows. `c` is packed. Weights W of rows of S are
/// Packed<S>, or of the type of the sums.
template <class S, class W>
struct WeightedRows {
  const W* weights = nullptr;  ///< if they are bf16: 0 behind an odd number of them
  Index weights_row = 0, c_rows = 0;
  const S* const* rows = nullptr;  ///< pointers; one more if `count` is odd
  Index count = 0;                 ///< of rows, at most kWeightedAtOnce
  Index length = 0;
  SumOf<S>* c = nullptr;
  Index c_row = 0;
  Index ahead = 0;  ///< elements from what is read to what should come into the caches; 0 for nothing
  /// Rows that come into the caches meanwhile, one after the other.
  const S* const* next = nullptr;
  Index next_count = 0;

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const;
};

/// What of rows is multiplied with a weight by one instruction: a vector of a row.
template <Index bytes, class S, class W>
struct WeightTerms {
  using Vector = typename VectorOf<SumOf<S>, bytes>::Type;
  using Term = Vector;
  using Factor = W;
  static constexpr Index kRows = 1;

  [[gnu::always_inline]] static inline void load(const S* const* rows, Index /*count*/, Index at, Term& first,
                                                 Term& second) {
    load_pair<bytes>(rows[0] + at, first, second);
  }
  [[gnu::always_inline]] static inline void load_factor(const W* weights, Factor& factor) { factor = *weights; }
  [[gnu::always_inline]] static inline void add(const Factor& factor, const Term& term, Vector& sum) {
    sum += factor * term;
  }
};

/// Two rows of bf16, element beside element.
template <Index bytes, class S, class W>
requires(std::is_same_v<W, BFloat16>) struct WeightTerms<bytes, S, W> {
  using Vector = typename VectorOf<float, bytes>::Type;
  using Term = PairsOf<bytes>;
  using Factor = PairsOf<bytes>;
  static constexpr Index kRows = 2;

  [[gnu::always_inline]] static inline void load(const S* const* rows, Index count, Index at, Term& first,
                                                 Term& second) {
    Term upper, lower = {};
    load_vector(rows[0] + at, upper);
    if (count > 1) load_vector(rows[1] + at, lower);
    first = (upper & 0xFFFFU) | (lower << 16U);
    second = (upper >> 16U) | (lower & 0xFFFF0000U);
  }
  [[gnu::always_inline]] static inline void load_factor(const W* weights, Factor& factor) {
    std::uint32_t both;
    std::memcpy(&both, weights, sizeof both);
    factor = Factor{} + both;
  }
  [[gnu::always_inline]] static inline void add(const Factor& factor, const Term& term, Vector& sum) {
    add_pairs<bytes>(factor, term, sum);
  }
};

/// Rows that come into the caches in pieces of `size` elements. A tile at column `at` asks for its share of the pieces.
template <Index size, class S>
struct NextRows {
  const S* const* rows;
  Index left, pieces, row, piece;  ///< pieces of this tile that are left, and those of a row

  [[gnu::always_inline]] inline NextRows(const S* const* of, Index count, Index length, Index at)
      : rows(of), left(count), pieces(std::max<Index>(1, length / size)) {
    const Index number = at / size * count;
    row = number / pieces;
    piece = number % pieces;
    left = std::min(left, count * pieces - number);
  }
  template <Index most>
  [[gnu::always_inline]] inline void ask() {
    for (Index i = 0; i < most && left > 0; ++i, --left) {
      prefetch(rows[row] + piece * size, size);
      if (++piece < pieces) continue;
      piece = 0;
      ++row;
    }
  }
};

/// Some columns of `group` sums, which stay in registers.
template <Index bytes, Index group, Index pairs, class S, class W>
struct WeightedTile {
  using Terms = WeightTerms<bytes, S, W>;
  using Vector = typename Terms::Vector;
  using Places = PairPlaces<bytes, S>;

  /// `at` is the first column in `rows`, and `pair` its number in `c`.
  [[gnu::always_inline]] static inline void run(const WeightedRows<S, W>& p, Index from, const S* const* rows, Index at,
                                                Index pair, Index ahead) {
    SumOf<S>* const c = p.c + from * p.c_row;
    const W* const weights = p.weights + from * p.weights_row;
    Vector first[group][pairs], second[group][pairs];
#pragma GCC unroll 16
    for (Index j = 0; j < pairs; ++j) {
      const Index place = Places::first(pair + j);
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
        std::memcpy(&first[i][j], c + i * p.c_row + place, bytes);
        std::memcpy(&second[i][j], c + i * p.c_row + place + Places::kSecond, bytes);
      }
    }
    NextRows<pairs * Places::kElements, S> next(p.next, from == 0 ? p.next_count : 0, p.length, at);
    for (Index r = 0; r < p.count; r += Terms::kRows) {
      next.template ask<Terms::kRows>();
      if (ahead != 0) {
#pragma GCC unroll 2
        for (Index of = 0; of < Terms::kRows; ++of) prefetch(rows[r + of] + at + ahead, pairs * Places::kElements);
      }
      typename Terms::Factor factors[group];
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) Terms::load_factor(weights + i * p.weights_row + r, factors[i]);
#pragma GCC unroll 16
      for (Index j = 0; j < pairs; ++j) {
        typename Terms::Term a, b;
        Terms::load(rows + r, p.count - r, at + j * Places::kElements, a, b);
#pragma GCC unroll 16
        for (Index i = 0; i < group; ++i) {
          Terms::add(factors[i], a, first[i][j]);
          Terms::add(factors[i], b, second[i][j]);
        }
      }
    }
#pragma GCC unroll 16
    for (Index j = 0; j < pairs; ++j) {
      const Index place = Places::first(pair + j);
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
        std::memcpy(c + i * p.c_row + place, &first[i][j], bytes);
        std::memcpy(c + i * p.c_row + place + Places::kSecond, &second[i][j], bytes);
      }
    }
  }
};

/// Columns from `at` to `end`, in tiles of `pairs` and then in smaller ones. They lie in `rows` from `shift` elements
/// before where they lie in `c`.
template <Index bytes, Index group, Index pairs, class S, class W>
[[gnu::always_inline]] inline void run_columns(const WeightedRows<S, W>& p, Index from, const S* const* rows, Index at,
                                               Index end, Index shift, Index ahead) {
  constexpr Index kElements = PairPlaces<bytes, S>::kElements;
  for (; at + pairs * kElements <= end; at += pairs * kElements) {
    WeightedTile<bytes, group, pairs, S, W>::run(p, from, rows, at - shift, at / kElements, ahead);
  }
  if constexpr (pairs > 1) run_columns<bytes, group, pairs / 2>(p, from, rows, at, end, shift, ahead);
}

template <Index bytes, Index group, class S, class W>
[[gnu::always_inline]] inline void run_weighted_tiles(const WeightedRows<S, W>& p, Index from, Index count) {
  if constexpr (group > 1) {
    if (count < group) return run_weighted_tiles<bytes, group - 1>(p, from, count);
  }
  constexpr Index kPairs = power_below(kSums<bytes> / 2 / group);
  const Index whole = p.length / kPackedBlock * kPackedBlock;
  run_columns<bytes, group, kPairs>(p, from, p.rows, 0, whole, 0, from == 0 ? p.ahead : 0);
  if (whole == p.length) return;
  S ends[kWeightedAtOnce][kPackedBlock] = {};
  const S* tails[kWeightedAtOnce];
  for (Index r = 0; r < p.count; ++r) {
    std::copy_n(p.rows[r] + whole, p.length - whole, ends[r]);
    tails[r] = ends[r];
  }
  run_columns<bytes, group, 1>(p, from, tails, whole, whole + kPackedBlock, whole, 0);
}

template <class S, class W>
template <Index bytes>
[[gnu::always_inline]] inline void WeightedRows<S, W>::run() const {
  constexpr Index kMost = kSums<bytes> / 2;
  const Index group = even_group(c_rows, kMost);
  for (Index from = 0; from < c_rows; from += group) {
    run_weighted_tiles<bytes, kMost>(*this, from, std::min(group, c_rows - from));
  }
}

}  // namespace shardline::kernels
