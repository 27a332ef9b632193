#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/support/packed_rows.h"
#include "kernels/support/vectors.h"

/// Products of a few packed rows with rows from memory. Each of these is read once. The product of two rows has the
/// same bits, however many others are multiplied with them. Only kernel sources include this header.
namespace shardline::kernels {

/// Rows from memory of one call.
inline constexpr Index kRowsAtOnce = 16;

/// sums[i, r] = the product of packed row i with row r.
template <class S>
struct RowProducts {
  const Packed<S>* x = nullptr;
  Index x_row = 0, x_rows = 0;     ///< elements from one packed row to the next, and how many rows these are
  const S* const* rows = nullptr;  ///< kRowsAtOnce pointers
  Index count = 0;                 ///< of `rows` that are needed; the others are perhaps read too
  Index length = 0;                ///< of a row
  SumOf<S>* sums = nullptr;        ///< room for kRowsAtOnce sums of each packed row
  Index sums_row = 0;
  Index ahead = 0;  ///< elements from what is read to what should come into the caches; 0 for nothing

  template <Index bytes>
  [[gnu::always_inline]] inline void run() const;
};

/// What of rows is multiplied by one instruction. A pair is two vectors of neighbouring elements.
template <Index bytes, class S>
struct RowTerms {
  using Vector = typename VectorOf<SumOf<S>, bytes>::Type;
  using Places = PairPlaces<bytes, S>;
  using Term = Vector;
  static constexpr Index kTerms = 2, kElements = Places::kElements;

  [[gnu::always_inline]] static inline void load_row(const S* from, Term (&terms)[kTerms]) {
    load_pair<bytes>(from, terms[0], terms[1]);
  }
  [[gnu::always_inline]] static inline void load_packed(const SumOf<S>* row, Index pair, Index term, Term& loaded) {
    load_vector(row + Places::first(pair) + term * Places::kSecond, loaded);
  }
  [[gnu::always_inline]] static inline void add(const Term& a, const Term& b, Vector& sum) { sum += a * b; }
};

template <Index bytes, class S>
requires(std::is_same_v<Packed<S>, BFloat16>) struct RowTerms<bytes, S> {
  using Vector = typename VectorOf<float, bytes>::Type;
  using Term = PairsOf<bytes>;
  static constexpr Index kTerms = 1, kElements = PairPlaces<bytes, S>::kElements;

  [[gnu::always_inline]] static inline void load_row(const S* from, Term (&terms)[kTerms]) {
    load_vector(from, terms[0]);
  }
  [[gnu::always_inline]] static inline void load_packed(const S* row, Index pair, Index /*term*/, Term& loaded) {
    load_vector(row + pair * kElements, loaded);
  }
  [[gnu::always_inline]] static inline void add(const Term& a, const Term& b, Vector& sum) {
    add_pairs<bytes>(a, b, sum);
  }
};

/// For two vectors cut into blocks of `size` lanes: the even blocks become the sums of a's pairs of neighbouring
/// blocks, and the odd ones those of b's pairs.
template <Index size, class Vector, Index... lanes>
[[gnu::always_inline]] inline void add_blocks(Vector& a, const Vector& b,
                                              std::integer_sequence<Index, lanes...> /*lanes*/) {
  constexpr Index kWidth = sizeof...(lanes);
  const Vector kept = __builtin_shufflevector(a, b, ((lanes & size) == 0 ? lanes : kWidth + lanes)...);
  const Vector crossed = __builtin_shufflevector(a, b, ((lanes & size) == 0 ? lanes + size : kWidth + lanes - size)...);
  a = kept + crossed;
}

/// Lane i of all[0] becomes the sum of the lanes of all[i], if `half` is half of the lanes.
template <Index half, class Vector, std::size_t width>
[[gnu::always_inline]] inline void sum_each(Vector (&all)[width]) {
#pragma GCC unroll 8
  for (Index i = 0; i < half; ++i) {
    add_blocks<half>(all[i], all[i + half], std::make_integer_sequence<Index, static_cast<Index>(width)>());
  }
  if constexpr (half > 1) sum_each<half / 2>(all);
}

/// The blocks of columns of which a group of packed rows asks for the lines ahead. The groups take them by turns, so
/// that memory works while each of them multiplies.
struct AskedBlocks {
  Index first = 0, every = 1;
};

/// Rows from memory that are multiplied together with `group` packed rows: the sums stay in registers. More than 8 rows
/// a power of two apart would share too few sets of the L1 cache.
template <Index bytes, Index group>
inline constexpr Index kTileRows = std::min<Index>(8, power_below(kSums<bytes> / group));

/// The products of `group` packed rows with kRows rows from memory.
template <Index bytes, Index group, Index kRows, class S>
struct ProductTile {
  using Sum = SumOf<S>;
  using Terms = RowTerms<bytes, S>;
  using Vector = typename Terms::Vector;
  using Term = typename Terms::Term;
  static constexpr Index kTerms = Terms::kTerms, kLanes = VectorOf<Sum, bytes>::kLanes;
  static constexpr Index kCount = group * kRows, kPadded = (kCount + kLanes - 1) / kLanes * kLanes;

  /// The shorter side is loaded first and kept.
  [[gnu::always_inline]] static inline void add_pair(Vector (&sum)[kPadded], const Packed<S>* x, Index x_row,
                                                     Index pair, const S* const (&rows)[kRows], Index at) {
    Term kept[std::min(group, kRows)][kTerms];
    if constexpr (group < kRows) {
#pragma GCC unroll 16
      for (Index i = 0; i < group; ++i) {
#pragma GCC unroll 2
        for (Index t = 0; t < kTerms; ++t) Terms::load_packed(x + i * x_row, pair, t, kept[i][t]);
      }
#pragma GCC unroll 16
      for (Index r = 0; r < kRows; ++r) {
        Term row[kTerms];
        Terms::load_row(rows[r] + at, row);
#pragma GCC unroll 2
        for (Index t = 0; t < kTerms; ++t) {
#pragma GCC unroll 16
          for (Index i = 0; i < group; ++i) Terms::add(row[t], kept[i][t], sum[i * kRows + r]);
        }
      }
    } else {
#pragma GCC unroll 16
      for (Index r = 0; r < kRows; ++r) Terms::load_row(rows[r] + at, kept[r]);
#pragma GCC unroll 2
      for (Index t = 0; t < kTerms; ++t) {
#pragma GCC unroll 16
        for (Index i = 0; i < group; ++i) {
          Term packed;
          Terms::load_packed(x + i * x_row, pair, t, packed);
#pragma GCC unroll 16
          for (Index r = 0; r < kRows; ++r) Terms::add(packed, kept[r][t], sum[i * kRows + r]);
        }
      }
    }
  }

  [[gnu::always_inline]] static inline void add_block(Vector (&sum)[kPadded], const Packed<S>* x, Index x_row,
                                                      const S* const (&rows)[kRows], Index at) {
#pragma GCC unroll 8
    for (Index pair = 0; pair < kPackedBlock / Terms::kElements; ++pair) {
      add_pair(sum, x, x_row, pair, rows, at + pair * Terms::kElements);
    }
  }

  [[gnu::always_inline]] static inline void add_rows(Vector (&sum)[kPadded], const RowProducts<S>& p, Index from,
                                                     const S* const (&rows)[kRows], const AskedBlocks& asked) {
    const Packed<S>* const x = p.x + from * p.x_row;
    Index at = 0, wait = asked.first;
    for (; at + kPackedBlock <= p.length; at += kPackedBlock) {
      if (p.ahead != 0 && --wait < 0) {
        wait = asked.every - 1;
#pragma GCC unroll 16
        for (Index r = 0; r < kRows; ++r) prefetch(rows[r] + at + p.ahead, kPackedBlock);
      }
      add_block(sum, x + at, p.x_row, rows, at);
    }
    if (at == p.length) return;
    S ends[kRows][kPackedBlock] = {};
    const S* tails[kRows];
    for (Index r = 0; r < kRows; ++r) {
      std::copy_n(rows[r] + at, p.length - at, ends[r]);
      tails[r] = ends[r];
    }
    add_block(sum, x + at, p.x_row, tails, 0);
  }

  /// `from` is the first packed row, and `row` the first of the rows from memory.
  [[gnu::always_inline]] static inline void run(const RowProducts<S>& p, Index from, Index row,
                                                const AskedBlocks& asked) {
    const S* rows[kRows];
#pragma GCC unroll 16
    for (Index r = 0; r < kRows; ++r) rows[r] = p.rows[row + r];
    Vector sum[kPadded] = {};
    add_rows(sum, p, from, rows, asked);
    Sum sums[kPadded];
#pragma GCC unroll 16
    for (Index i = 0; i < kPadded; i += kLanes) {
      Vector some[kLanes];
#pragma GCC unroll 16
      for (Index j = 0; j < kLanes; ++j) some[j] = sum[i + j];
      sum_each<kLanes / 2>(some);
      std::memcpy(sums + i, &some[0], bytes);
    }
#pragma GCC unroll 16
    for (Index i = 0; i < group; ++i) {
      std::memcpy(p.sums + (from + i) * p.sums_row + row, sums + i * kRows, kRows * sizeof(Sum));
    }
  }
};

/// Multiplies `rows` rows from `row` on with `count` packed rows from `from` on.
template <Index bytes, Index group, Index rows, class S>
[[gnu::always_inline]] inline void run_product_tile(const RowProducts<S>& p, Index from, Index count, Index row,
                                                    const AskedBlocks& asked) {
  if constexpr (group > 1) {
    if (count < group) return run_product_tile<bytes, group - 1, rows>(p, from, count, row, asked);
  }
  ProductTile<bytes, group, rows, S>::run(p, from, row, asked);
}

/// All rows with `group` packed rows, which are all that there are.
template <Index bytes, Index group, class S>
[[gnu::always_inline]] inline void run_one_group(const RowProducts<S>& p) {
  if constexpr (group > 1) {
    if (p.x_rows < group) return run_one_group<bytes, group - 1>(p);
  }
  constexpr Index kRows = kTileRows<bytes, group>;
  for (Index row = 0; row < p.count; row += kRows) ProductTile<bytes, group, kRows, S>::run(p, 0, row, {});
}

template <class S>
template <Index bytes>
[[gnu::always_inline]] inline void RowProducts<S>::run() const {
  constexpr Index kMost = 4;  // with more, loads from the L2 cache wait for those from memory
  if (x_rows <= kMost) return run_one_group<bytes, kMost>(*this);
  constexpr Index kRows = kTileRows<bytes, kMost>;
  const Index group = even_group(x_rows, kMost);
  AskedBlocks asked{.every = (x_rows + group - 1) / group};
  for (Index row = 0; row < count; row += kRows) {  // the rows are in the L1 cache for the second group
    asked.first = 0;
    for (Index from = 0; from < x_rows; from += group, ++asked.first) {
      run_product_tile<bytes, kMost, kRows>(*this, from, std::min(group, x_rows - from), row, asked);
    }
  }
}

}  // namespace shardline::kernels
